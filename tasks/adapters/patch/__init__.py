"""Unified diffs: reading, splitting by path, applying up a ladder, and what they change."""
