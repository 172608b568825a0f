"""The papers' figures and ours, one file each, and the report that holds them."""

from entropy_theory.support.user_errors import need

need(__name__, "jinja2", "matplotlib")
