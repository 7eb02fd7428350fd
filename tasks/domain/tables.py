"""All tables: the dataclasses of this package that `@table` declares."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import tasks.domain
from tasks.domain.table import DECLARED, table_name

for _module in pkgutil.iter_modules(tasks.domain.__path__, "tasks.domain."):
    if _module.name != __name__:
        import_module(_module.name)

TABLES: tuple[type[Any], ...] = tuple(sorted(DECLARED, key=table_name))
"""Sorted by name."""
