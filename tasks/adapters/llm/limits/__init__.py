"""Budgets, rate limits, concurrency and retries of model calls."""
