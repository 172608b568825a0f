"""Takes the same steps as NumPy, compiled by numba; what cannot be compiled exactly is refused."""
