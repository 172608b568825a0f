"""The papers' figures and ours, one file each, and the site that holds them."""
