"""The console script ``policy-entropy``: the commands of all rooms under one name."""
