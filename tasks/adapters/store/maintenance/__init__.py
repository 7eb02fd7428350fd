"""Compaction, health checks and claims of a store."""
