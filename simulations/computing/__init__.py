"""Work and its results: cells computed on processes or a cluster, kept until their code changes."""
