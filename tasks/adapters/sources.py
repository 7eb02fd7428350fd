"""Which version of the code made something: rows that another version made are made again."""

from __future__ import annotations

from functools import cache

from tasks.adapters.store.provenance import PROJECT
from tasks.domain.names import content_key


@cache
def version_of(*packages: str) -> str:
    """Content key of the Python files of packages (`tasks.evaluate`), with those below them."""
    folders = [PROJECT.joinpath(*package.split(".")) for package in packages]
    found = sorted(file for folder in folders for file in folder.rglob("*.py"))
    return content_key("sources", [[str(file.relative_to(PROJECT)), file.read_text("utf-8")] for file in found])
