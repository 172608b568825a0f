"""build/report/index.html: the ledger, the figures, the tables and their provenance in one page."""
