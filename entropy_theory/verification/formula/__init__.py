"""A claim's statement as one expression: evaluated, certified, shown and proved from the same terms.

`terms` runs the functions that a claim is written with on symbols, and keeps what they compute as a graph
of operations. From this graph `evaluate` computes numbers (float64 or balls), `latex` shows it, `rocq`
writes it for the proof kernel, and `differentiate` takes derivatives. `statement` puts hypotheses and
conclusion together.
"""
