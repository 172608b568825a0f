"""Tabular experiments: what the update rules do to a policy whose every expectation is known.

``python -m simulations list`` names the experiments, ``run NAME`` computes one, ``sweep FILE`` a grid of
runs of your own. The rooms, each explained by its first lines:

- `problems`: what is learned;
- `engine`: how it is learned, many policies at once (`engine.simulate`), and the same compiled;
- `computing`: cells of work in parallel, and their results on disk;
- `experiments`: one file a phenomenon;
- `sweeps`: grids of runs that a user describes in a file.
"""
