"""Run units as tasks: executors, retries, shards, failures and exit codes."""
