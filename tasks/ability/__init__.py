"""One scale for methods that were tried on different months. Reads verdicts; writes method_ability,
snapshot_difficulty and time_effect rows; touches nothing else."""
