"""Commands that are no flow: queries, store maintenance, models, and setup of this machine."""
