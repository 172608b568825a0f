"""Any rule, compiled from its own array code: one step is traced once, and the trace becomes machine code."""
