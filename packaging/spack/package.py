# SPDX-License-Identifier: Apache-2.0
import os

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class Mam(AutotoolsPackage):
    """GPU memory management for CUDA programs and kernels: pools in place of cudaMalloc and cudaFree."""

    manual_download = True
    url = f"file://{os.getcwd()}/mam-0.1.0.tar.gz"  # an archive of `make dist`

    license("Apache-2.0")

    version("0.1.0")

    variant("cuda", default=False, description="Include the kernels of mam_pattern_fill and mam_pattern_check")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("elfutils")
    depends_on("ncurses")
    depends_on("zlib-api")
    depends_on("cuda@11.8:", when="+cuda")

    def configure_args(self):
        return [
            "--without-libclang",
            "--without-opencl",
            "--disable-bench-kernels",
            *self.with_or_without("cuda", activation_value="prefix"),
        ]
