"""The same steps as NumPy's, compiled by numba; what cannot be compiled exactly is refused."""
