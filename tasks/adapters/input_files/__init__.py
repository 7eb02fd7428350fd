"""Rows out of files that other people wrote: JSON lines, JSON documents, Parquet. Reads files, writes nothing."""
