"""Plans, executes and stores the runs that judge a suite."""
