"""The SQL files as DuckDB views, and their materialised verdicts."""
