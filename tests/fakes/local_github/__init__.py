"""A local GitHub: executes GraphQL on GitHub's schema, fed from git histories and issue files, faults on demand."""
