# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration of mam's documentation; `make docs` runs it (docs/build).

The source directory is the root of the checkout, so that the links and pictures of a page work both
in the rendered documentation and in a repository viewer. Two pages get their text from elsewhere
while they are read: docs/man from the manual pages, by groff, and docs/internals from src/README.
"""
import glob
import os
import subprocess

root = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))

project = "mam"
author = "the mam maintainers"
copyright = "the mam maintainers, Apache-2.0"
release = os.environ.get("MAM_VERSION", "")

extensions = ["myst_parser", "breathe"]
source_suffix = {".md": "markdown"}
master_doc = "docs/index"
include_patterns = ["docs/*.md"]
myst_heading_anchors = 3
breathe_projects = {"mam": os.environ.get("MAM_DOXYGEN_XML", "")}
breathe_default_project = "mam"
breathe_domain_by_extension = {"h": "c", "cuh": "cpp"}

try:
    import sphinx_rtd_theme  # noqa: F401
    extensions.append("sphinx_rtd_theme")
    html_theme = "sphinx_rtd_theme"
except ImportError:
    html_theme = "alabaster"
html_title = "mam"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["style.css"]


def formatted_man_pages():
    """Every manual page, formatted at 80 columns, as one section each."""
    for path in sorted(glob.glob(os.path.join(root, "tools", "*.[1-8]"))):
        name, section = os.path.basename(path).rsplit(".", 1)
        text = subprocess.run(["groff", "-man", "-Tutf8", "-P-cbou", "-rLL=80n", path],
                              check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
        yield f"\n## {name}({section})\n\n```text\n{text.strip()}\n```\n"


def read(app, docname, source):
    if docname == "docs/man":
        source[0] += "".join(formatted_man_pages())


def setup(app):
    app.connect("source-read", read)
