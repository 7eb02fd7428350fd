"""Domain types: frozen dataclasses and enums on the standard library. One dataclass is one table and one view."""
