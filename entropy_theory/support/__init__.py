"""What every room needs beside theory: result files with provenance, users' own code, and errors."""
