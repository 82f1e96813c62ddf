# SPDX-License-Identifier: Apache-2.0
"""Build the wheel of mam-gpu (PEP 517).

1. ./configure and make build mam in a temporary folder. The setting `build` names a folder that is already configured.
2. make install copies the tree into a staging folder.
3. The files that a program needs at run time or to compile against mam go into mam/prefix of the wheel, stripped.
   A wheel cannot contain links: libmam.so becomes a one-line linker script, and libmam.so.0 the library.
4. The Python files and the metadata are added.

Settings of pip (--config-settings NAME=VALUE): build, a configured build folder; configure, more arguments.
Output: about 2 MB for x86-64. The wheel depends on the platform, and on no version of Python.
"""

import base64
import hashlib
import itertools
import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# libclang, libdw and OpenCL would tie the wheel to libraries of the machine that builds it.
CONFIGURE = ["--without-libclang", "--without-opencl", "--without-ncurses", "--without-libdw",
             "--disable-static", "--disable-bench-kernels"]

METADATA = """\
Metadata-Version: 2.1
Name: mam-gpu
Version: {version}
Summary: Pools of GPU memory for Python, PyTorch, CuPy, Numba and RMM, and the command mam
License: Apache-2.0
Requires-Python: >=3.9
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

"""

WHEEL = """\
Wheel-Version: 1.0
Generator: mam
Root-Is-Purelib: false
Tag: py3-none-{platform}
"""


def _run(*command, cwd=ROOT, **environment):
    try:
        subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"mam: error: '{shlex.join(command)}' failed in '{cwd}': {error}") from None


def _version():
    """The version of build-aux/mam-version as PEP 440 has it: 0.1.0-5-g0123abc is 0.1.0.post5+g0123abc."""
    text = subprocess.check_output(["sh", f"{ROOT}/build-aux/mam-version"], text=True).strip()
    release, *commits = text.split("-")
    return release if not commits else f"{release}.post{commits[0]}+{'.'.join(commits[1:])}"


def _install(scratch, settings):
    """Build mam, and return the path of its installed tree."""
    build = settings.get("build")
    if not build:
        if os.path.exists(f"{ROOT}/config.status"):
            raise SystemExit("mam: error: the source tree was configured itself; run 'make distclean' there first")
        if not os.path.exists(f"{ROOT}/configure"):
            _run("autoreconf", "-fi")
        build = f"{scratch}/build"
        os.mkdir(build)
        _run(f"{ROOT}/configure", "-q", *CONFIGURE, *shlex.split(settings.get("configure", "")), cwd=build)
    stage = f"{scratch}/stage"
    _run("make", f"-j{os.cpu_count()}", "install", f"DESTDIR={stage}", cwd=build, MAKEFLAGS="", MFLAGS="")
    with open(f"{build}/Makefile") as makefile:
        prefix = next(line.split("=", 1)[1].strip() for line in makefile if line.startswith("prefix ="))
    return stage + prefix


def _is_wanted(name):
    """Whether a file of the installed tree goes into the wheel."""
    if name.startswith(("bin/", "include/", "share/man/", "share/mam/")):
        return True
    return name.startswith("lib/") and name.endswith((".so", ".so.0", ".pc", ".cmake")) and "opencl" not in name


def _is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def _tree(prefix, scratch):
    """Yield (name in the wheel, path) for the installed files."""
    if not os.path.exists(f"{prefix}/lib/libmam.so.0"):
        raise SystemExit("mam: error: the build has no lib/libmam.so.0; configure it with shared libraries")
    strip = shutil.which("strip")
    for folder, _, files in sorted(os.walk(prefix)):
        for file in sorted(files):
            path = os.path.join(folder, file)
            name = os.path.relpath(path, prefix)
            if not _is_wanted(name):
                continue
            if name == "lib/libmam.so":
                path = f"{scratch}/libmam.so"
                with open(path, "w") as script:
                    script.write("/* GNU ld script */\nINPUT(libmam.so.0)\n")
            elif strip and _is_elf(path):
                stripped = f"{scratch}/stripped"
                _run(strip, "--strip-unneeded", "-o", stripped, path)
                path = stripped
            yield f"mam/prefix/{name}", path


def _python():
    """Yield (name in the wheel, path) for the files of the Python package."""
    for file in sorted(os.listdir(f"{ROOT}/python/mam")):
        if file.endswith((".py", ".typed", ".cpp", ".h")):
            yield f"mam/{file}", f"{ROOT}/python/mam/{file}"


class _Wheel:
    """A wheel under construction: a zip archive whose RECORD lists the digest of each file."""

    def __init__(self, path, info):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = f"{info}/RECORD"
        self.rows = []

    def add(self, name, data, mode=0o644):
        entry = zipfile.ZipInfo(name)  # no time: equal files make an equal wheel
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.rows.append(f"{name},sha256={digest},{len(data)}\n")
        self.zip.writestr(entry, data)

    def add_file(self, name, path):
        with open(path, "rb") as file:
            self.add(name, file.read(), os.stat(path).st_mode & 0o755)

    def close(self):
        self.zip.writestr(self.record, "".join(self.rows) + f"{self.record},,\n")
        self.zip.close()


def write_metadata(folder):
    """Write mam_gpu-VERSION.dist-info into a folder that another package manager installs (packaging/debian)."""
    version = _version()
    info = f"{folder}/mam_gpu-{version}.dist-info"
    os.makedirs(info)
    with open(f"{info}/METADATA", "w") as file:
        file.write(METADATA.format(version=version))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Write mam_gpu-VERSION-py3-none-PLATFORM.whl into a folder, and return its name."""
    version = _version()
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    info = f"mam_gpu-{version}.dist-info"
    wheel_name = f"mam_gpu-{version}-py3-none-{platform}.whl"
    with tempfile.TemporaryDirectory() as scratch:
        prefix = _install(scratch, config_settings or {})
        wheel = _Wheel(os.path.join(wheel_directory, wheel_name), info)
        for name, path in itertools.chain(_python(), _tree(prefix, scratch)):
            wheel.add_file(name, path)
        with open(f"{ROOT}/README.md") as readme:
            wheel.add(f"{info}/METADATA", (METADATA.format(version=version) + readme.read()).encode())
        wheel.add(f"{info}/WHEEL", WHEEL.format(platform=platform).encode())
        wheel.add(f"{info}/entry_points.txt", b"[console_scripts]\nmam = mam.__main__:main\n")
        wheel.add_file(f"{info}/licenses/COPYING", f"{ROOT}/COPYING")
        wheel.close()
    return wheel_name


def build_sdist(sdist_directory, config_settings=None):
    """The source archive of mam is that of `make dist`, from which pip can install."""
    raise SystemExit("mam: error: 'make dist' makes the source archive; pip can install from it")
