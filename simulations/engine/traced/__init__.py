"""Any rule compiled from its own array code: a step is traced once, and the trace becomes machine code."""
