"""BM25 over the files of a commit, read from a mirror: analyzers, cached counts, the index, token budgets."""
