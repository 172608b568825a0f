"""Makes build/docs, the documentation: pages generated from the project's own objects, set by Sphinx.

- `markup`: prose, formulas and tables as MyST Markdown;
- `records`, `ledger`: figures and claims as the site shows them;
- `claims`, `papers`, `rules`, `figures`, `notebooks`, `reference`: a folder of pages each;
- `found`, `bandit`, `run`: a page each;
- `logged`: a page for each metric;
- `search`: by which words a search finds a page, and what it shows of it;
- `pages`: all of them, beside the hand-written ones of docs/;
- `mathematics`, `docstrings`: extensions of Sphinx that conf.py names;
- `building`: what ``python -m paper_figures.site`` does.
"""
