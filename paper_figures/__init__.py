"""The papers' figures and ours, one file each, and the report that holds them."""
