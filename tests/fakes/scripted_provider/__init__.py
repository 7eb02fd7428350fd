"""A provider on this machine that speaks the three dialects from a script, with faults on demand."""
