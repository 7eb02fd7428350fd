"""Parse replies of models into patches, calls, JSON and scripts."""
