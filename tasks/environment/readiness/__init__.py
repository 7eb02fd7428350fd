"""Checks whether an environment can collect and run an instance's tests."""
