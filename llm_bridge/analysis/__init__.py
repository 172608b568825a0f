"""What became of entropy in a training run: audits of forecasts, tables of tokens, runs side by side."""
