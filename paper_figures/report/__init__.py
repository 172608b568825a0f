"""Makes build/report/everything.html: ledger, figures, tables and their provenance in one page."""
