"""One scale for methods that were tried on different months. Reads verdicts; writes method_ability and
snapshot_difficulty rows; touches nothing else."""
