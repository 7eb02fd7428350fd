"""Units of work as tasks: executors, shards, failures and exit codes."""
