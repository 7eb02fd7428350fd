"""Replies of models as patches, calls, JSON and scripts."""
