"""Generates files that a build would write and git does not contain: the module with a version from git tags.

Checkouts run without a build. So this module writes the files of setuptools-scm, hatch-vcs, PDM and versioningit. The
version is the latest one in a change log, because some projects check it when they start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tasks.environment.project_files.pyproject import dig, load_pyproject
from tasks.environment.project_files.requirements import Read

CHANGE_LOGS = tuple(
    f"{folder}{name}{suffix}"
    for folder in ("", "docs/", "doc/", "doc/en/", "docs/source/")
    for name in ("CHANGES", "CHANGELOG", "HISTORY", "NEWS", "changes", "changelog", "history", "release-notes")
    for suffix in (".rst", ".md", ".txt", "")
)
"""Possible change logs; the first that contains a version is used, since some only refer to other files."""

PLACES = (
    (("tool", "setuptools_scm"), ("version_file", "write_to"), ("version_file_template", "write_to_template")),
    (("tool", "hatch", "build", "hooks", "vcs"), ("version-file",), ("template",)),
    (("tool", "pdm", "version"), ("write_to",), ("write_template",)),
    (("tool", "versioningit", "write"), ("file",), ("template",)),
)
"""(table of pyproject.toml, keys that may contain the path of the file, keys that may contain a template)."""

NO_VERSION = "0.0.0"
_HEADING = re.compile(r"^\W{0,4}(?:[A-Za-z][\w-]*[ \t]+|v|\[)?v?(\d+\.\d+(?:\.\d+)?)\b", re.MULTILINE)
_SETUP_PY = re.compile(
    r"use_scm_version\s*=.{0,300}?[\"'](?:write_to|version_file)[\"']\s*:\s*[\"']([^\"']+)[\"']", re.DOTALL
)
_MODULE = """\
version = __version__ = "{version}"
version_tuple = __version_tuple__ = ({numbers},)
commit_id = __commit_id__ = None
"""


def latest_version(read: Read) -> str | None:
    """Returns the first version at the start of a line of a change log, which is the latest; None if there is none."""
    found = (match[1] for path in CHANGE_LOGS if (match := _HEADING.search(read(path) or "")))
    return next(found, None)


def version_files(read: Read, version: str) -> tuple[tuple[str, str], ...]:
    """Returns (path, text) of every file that a build of the checkout would write for `version`."""
    found = dict(_asked_for(load_pyproject(read), version))
    match = _SETUP_PY.search(read("setup.py") or "")
    if match:
        found.setdefault(match[1], version_module(version))
    return tuple(sorted((path, text) for path, text in found.items() if _is_safe(path) and read(path) is None))


def version_module(version: str) -> str:
    """Returns a module with the names that setuptools-scm and hatch-vcs write."""
    return _MODULE.format(version=version, numbers=", ".join(re.findall(r"\d+", version)))


def _asked_for(table: Mapping[str, Any], version: str) -> Iterator[tuple[str, str]]:
    for keys, names, templates in PLACES:
        asked = dig(table, *keys)
        path = _first(asked, names)
        if path:
            yield path, _filled(_first(asked, templates), version)


def _first(table: Mapping[str, Any], names: Iterable[str]) -> str:
    return next((table[name] for name in names if isinstance(table.get(name), str)), "")


def _filled(template: str, version: str) -> str:
    """Fills the project's own template. Returns the default module if it has none or it needs more than a version."""
    if not template:
        return version_module(version)
    try:
        return template.format(version=version)
    except (KeyError, IndexError, ValueError):
        return version_module(version)


def _is_safe(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")
