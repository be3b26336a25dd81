"""The settings of the site: ``sphinx-build -W -c docs . build/site``, in the root of a checkout.

The source is the whole checkout, not docs/ alone. So a link from one Markdown file to another works on GitHub as well
as in the site, also where it leads to data/, kernels/ or scripts/. Nothing is downloaded.
"""

import os
import re
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = str(ROOT)  # for the notebooks' process
os.environ["PYTHONSTARTUP"] = str(ROOT / "docs/_startup.py")  # which lets notebooks find data/

project = "garaph_py"
author = "the authors of garaph_py"
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
root_doc = "docs/index"
include_patterns = ["docs/**", "CONTRIBUTING.md", "data/README.md", "kernels/README.md", "scripts/*/README.md"]
exclude_patterns = [".venv", "build", "docs/_*", "docs/gallery", "docs/auto_gallery/*.ipynb"]
suppress_warnings = ["config.cache"]  # the gallery's settings contain functions

default_role = "py:obj"  # `Result` in a docstring is a link
autosummary_generate = True
templates_path = [str(ROOT / "docs/_templates")]  # a class's page has its methods in full, but not a program's
autodoc_typehints = "none"  # numpydoc's sections state them
numpydoc_show_class_members = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
nb_execution_raise_on_error = True
nb_execution_timeout = 300  # seconds; a cell's first run compiles, for some seconds

warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")  # a gallery script calls plt.show
sphinx_gallery_conf = {
    "examples_dirs": "docs/gallery",
    "gallery_dirs": "docs/auto_gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "first_notebook_cell": "# Run this notebook in the folder docs/gallery of a checkout: it may read files of data/.",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 60,
}

html_theme = "pydata_sphinx_theme"
html_title = "garaph_py"
html_static_path = ["_static"]
html_extra_path = ["_extra"]  # index.html, which leads to the first page
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {"docs/start": []}
html_theme_options = {
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

SECTIONS = ("docs/decisions/README", "docs/results/README")
"""Pages that list the other pages of their folder, in words. The site also needs that list as a table of contents."""


def add_contents(app, name, source):
    if name in SECTIONS:
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def link_gallery(app, name, source):
    """A link to the gallery, or to a script of it, leads to the page with its picture."""
    text = source[0].replace("](gallery)", "](auto_gallery/index.rst)")
    source[0] = re.sub(r"\]\(gallery/(\w+)\.py\)", r"](auto_gallery/\1.rst)", text)


def setup(app):
    app.connect("source-read", add_contents)
    app.connect("source-read", link_gallery)
