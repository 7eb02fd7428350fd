"""Parquet files on a disk or an object store, and their schemas."""
