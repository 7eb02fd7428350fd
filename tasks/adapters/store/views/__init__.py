"""The files of `sql/` as DuckDB views, and the materialized verdicts."""
