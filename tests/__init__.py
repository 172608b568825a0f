"""The tests, by room: README.md says where which test goes."""

import os

# Before torch and NumPy are imported, here and in what tests start: threads of several test processes
# that wait for one another take five times the time.
os.environ.setdefault("OMP_NUM_THREADS", "1")
