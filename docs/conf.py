"""Sphinx's settings; `make docs` generates the other pages and runs it."""

from pathlib import Path

from entropy_theory import __version__

project = "policy-entropy"
copyright = "the policy-entropy contributors"
release = version = __version__

extensions = [
    "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon",
    "paper_figures.site.mathematics", "paper_figures.site.docstrings",
    "paper_figures.site.navigation",
]
myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

# Two modules may each have an alias of the same name, such as Array: the link leads to one of them.
suppress_warnings = ["ref.python"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
# By its name a type of thirty words is one word.
autodoc_type_aliases = {"Name": "diagnosis.findings.Name",
                        "Quantity": "entropy_theory.training_logs.names.Quantity"}
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
napoleon_use_ivar = True  # else a field's own docstring would be a second description of it
toc_object_entries = False
# In a docstring `NAME` is code, and leads to what has this name.
default_role = "py:obj"
smartquotes_action = "qe"  # --option is no dash
highlight_language = "text"  # of blocks that name none: formulas, not Python

linkcheck_ignore = ["(?!https?://)"]  # links within the site lead to pages, which a test looks for

html_theme = "furo"
html_title = "policy-entropy"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["filter.js"]
html_copy_source = False
html_use_index = html_domain_indices = False  # a megabyte, and the search and reference/index lead there
html_search_scorer = str(Path(__file__).with_name("search.js"))
html_show_search_summary = False  # from disk a browser reads no other page: search.js has excerpts
templates_path: list[str] = []
exclude_patterns = ["static"]
pygments_dark_style = "monokai"
