"""Which lines a golden patch changes. Reads instances; writes changed_line rows; touches nothing else."""
