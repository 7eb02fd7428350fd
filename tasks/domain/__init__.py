"""The nouns: frozen dataclasses and enums over the standard library. One dataclass is one table and one view."""
