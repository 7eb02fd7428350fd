"""Containers over Docker's API: images made of layers that runs share, and one temporary container per run."""
