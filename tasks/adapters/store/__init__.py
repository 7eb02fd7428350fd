"""The store: typed rows in atomic Parquet files, an index of run keys, and `swt.duckdb`, which contains only views."""
