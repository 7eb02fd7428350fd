"""The warehouse: typed rows to atomic Parquet files, the ledger of run keys, and `swt.duckdb` made of views only."""
