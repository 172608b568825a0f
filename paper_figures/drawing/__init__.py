"""How every figure and table is drawn: one style, lines told apart without color, bands, text tables."""
