"""Where a method works: the files of the base commit, to search, change and run. Reads mirrors, writes scratch."""
