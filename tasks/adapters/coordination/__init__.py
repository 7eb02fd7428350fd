"""Locks, leases and rows that processes and machines share."""
