"""Reads the log of any training run: console output, JSON, tables, TensorBoard, W&B, MLflow, trackio.

- `sources`: opens files, folders and standard input, and yields their records;
- `lines`: finds the records in lines of text;
- `names`: which column of which engine is which quantity (names.toml);
- `logs`: the runs of some logs, each quantity as an array by step.
"""
