"""Parquet files on a local disk or in an object store, and their schemas."""
