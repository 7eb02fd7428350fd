"""The only code that touches git, patches, sandboxes, models and disk. Imports nothing but the domain."""
