"""Makes build/report/index.html: ledger, figures, tables and their provenance in one page."""
