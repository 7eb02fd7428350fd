"""Speed as a ratio, measured against the alternative in the same run; see README.md."""
