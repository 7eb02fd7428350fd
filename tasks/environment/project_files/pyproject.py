"""Reads pyproject.toml: PEP 621, PEP 735 groups, setuptools' dynamic files, Poetry, PDM, uv, Hatch, Flit."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from tasks.environment.project_files.project import Project
from tasks.environment.project_files.requirements import Read, normal, read_requirements

_NUMBERS = re.compile(r"\d+(?:\.\d+)*")


def read_pyproject(read: Read) -> Project:
    """Returns the facts in pyproject.toml; empty if it is missing or cannot be parsed."""
    table = load_pyproject(read)
    tool = dig(table, "tool")
    project = _standard(table, read) | _poetry(dig(tool, "poetry")) | _pdm(dig(tool, "pdm")) | _flit(dig(tool, "flit"))
    return project | _uv(dig(tool, "uv")) | _hatch(dig(tool, "hatch"), project.name)


def load_pyproject(read: Read) -> dict[str, Any]:
    """Returns the whole file; empty if it is missing or cannot be parsed."""
    try:
        return tomllib.loads(read("pyproject.toml") or "")
    except tomllib.TOMLDecodeError:
        return {}


def dig(table: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Returns the table at the end of `keys`; empty if there is none."""
    found: Any = table
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _standard(table: Mapping[str, Any], read: Read) -> Project:
    project, dynamic = dig(table, "project"), dig(table, "tool", "setuptools", "dynamic")
    extras = {name: _strings(lines) for name, lines in dig(project, "optional-dependencies").items()}
    later = {name: _from_files(entry, read) for name, entry in dig(dynamic, "optional-dependencies").items()}
    return Project(
        name=str(project.get("name", "")),
        requires_python=str(project.get("requires-python", "")),
        classifiers=_strings(project.get("classifiers")),
        dependencies=_strings(project.get("dependencies")) or _from_files(dynamic.get("dependencies"), read),
        extras={**later, **extras},
        groups=_groups(dig(table, "dependency-groups")),
        package_root=_package_root(dig(table, "tool", "setuptools")),
    )


def _from_files(entry: Any, read: Read) -> tuple[str, ...]:
    """Reads the files of `{file = "requirements.txt"}` or `{file = [...]}`."""
    named = entry.get("file") if isinstance(entry, dict) else None
    paths = [named] if isinstance(named, str) else _strings(named)
    return tuple(line for path in paths for line in read_requirements(read, path).lines)


def _groups(table: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {name: _group(table, name, frozenset()) for name in table}


def _group(table: Mapping[str, Any], name: str, seen: frozenset[str]) -> tuple[str, ...]:
    """Returns one PEP 735 group with `{include-group = …}` resolved; stops at cycles."""
    names = {normal(key): key for key in table}
    key = names.get(normal(name))
    if key is None or key in seen or not isinstance(table[key], list):
        return ()
    lines: list[str] = []
    for item in table[key]:
        if isinstance(item, str):
            lines.append(item)
        elif isinstance(item, dict):
            lines += _group(table, str(item.get("include-group", "")), seen | {key})
    return tuple(lines)


def _package_root(setuptools: Mapping[str, Any]) -> str | None:
    where = _strings(dig(setuptools, "packages", "find").get("where"))
    mapped = dig(setuptools, "package-dir").get("")
    return where[0] if where else mapped if isinstance(mapped, str) else None


def _poetry(table: Mapping[str, Any]) -> Project:
    if not table:
        return Project()
    groups = {"dev": _poetry_lines(dig(table, "dev-dependencies"))}
    groups |= {name: _poetry_lines(dig(entry, "dependencies")) for name, entry in dig(table, "group").items()}
    needs = dig(table, "dependencies")
    roots = [entry.get("from") for entry in table.get("packages", []) if isinstance(entry, dict)]
    return Project(
        name=str(table.get("name", "")),
        requires_python=caret(needs["python"]) if isinstance(needs.get("python"), str) else "",
        classifiers=_strings(table.get("classifiers")),
        dependencies=_poetry_lines(needs),
        extras={name: _strings(lines) for name, lines in dig(table, "extras").items()},
        groups={name: lines for name, lines in groups.items() if lines},
        package_root=next((root for root in roots if isinstance(root, str)), None),
    )


def _pdm(table: Mapping[str, Any]) -> Project:
    """Reads development groups, and the tables of PDM before 2021, which have Poetry's form."""
    groups = dig(table, "dev-dependencies")
    listed = {name: lines for name, lines in groups.items() if isinstance(lines, list)}
    old = {name: entry for name, entry in groups.items() if name not in listed}
    root = dig(table, "build").get("package-dir", table.get("package-dir"))
    return Project(
        name=str(table.get("name", "")),
        dependencies=_poetry_lines(dig(table, "dependencies")),
        groups={**({"dev": _poetry_lines(old)} if old else {}), **{name: _strings(listed[name]) for name in listed}},
        package_root=root if isinstance(root, str) else None,
    )


def _uv(table: Mapping[str, Any]) -> Project:
    """Reads the single group of uv before PEP 735."""
    lines = _strings(table.get("dev-dependencies"))
    return Project(groups={"dev": lines} if lines else {})


def _hatch(table: Mapping[str, Any], project: str) -> Project:
    """Reads Hatch environments as groups (`hatch-test` is that of `hatch test`), and the folder of its wheel's
    packages."""
    environments, build = dig(table, "envs"), dig(table, "build")
    groups: dict[str, tuple[str, ...]] = {}
    for name in environments:
        entry = dig(environments, name)
        lines = [line for key in ("dependencies", "extra-dependencies") for line in _strings(entry.get(key))]
        lines += [f"{project}[{feature}]" for feature in _strings(entry.get("features")) if project]
        group = "test" if name == "hatch-test" else name
        groups[group] = (*groups.get(group, ()), *lines)
    packages = _strings(dig(build, "targets", "wheel").get("packages")) or _strings(build.get("packages"))
    return Project(
        groups={name: lines for name, lines in groups.items() if lines},
        package_root=str(PurePosixPath(packages[0].strip("/")).parent) if packages else None,
    )


def _flit(table: Mapping[str, Any]) -> Project:
    """Reads Flit's own metadata from before PEP 621."""
    told = dig(table, "metadata")
    return Project(
        name=str(told.get("dist-name") or told.get("module", "")),
        requires_python=str(told.get("requires-python", "")),
        classifiers=_strings(told.get("classifiers")),
        dependencies=_strings(told.get("requires")),
        extras={name: _strings(lines) for name, lines in dig(told, "requires-extra").items()},
    )


def _poetry_lines(table: Mapping[str, Any]) -> tuple[str, ...]:
    lines = (_poetry_line(name, entry) for name, entry in table.items() if name != "python")
    return tuple(line for line in lines if line)


def _poetry_line(name: str, entry: Any) -> str:
    """Returns one entry in PEP 508 form; empty for an optional one, a path or a repository."""
    if isinstance(entry, str):
        return f"{name}{caret(entry)}"
    if not isinstance(entry, dict) or entry.get("optional") or not isinstance(entry.get("version"), str):
        return ""
    extras = f"[{','.join(_strings(entry.get('extras')))}]" if entry.get("extras") else ""
    marker = f"; {entry['markers']}" if entry.get("markers") else ""
    return f"{name}{extras}{caret(entry['version'])}{marker}"


def caret(version: str) -> str:
    """Converts Poetry's `^1.2`, `~1.2`, `1.2` and `*` to PEP 440, excluding the next release that may break."""
    parts = [_one_bound(part.strip()) for part in version.split("||")[0].split(",")]
    return ",".join(part for part in parts if part)


def _one_bound(text: str) -> str:
    match = _NUMBERS.search(text)
    if match is None:
        return ""
    if text[0] == "^":
        return f">={match[0]},<{_next(match[0], _first_nonzero(match[0]))}"
    if text[0] == "~" and not text.startswith("~="):
        return f">={match[0]},<{_next(match[0], min(1, match[0].count('.')))}"
    return text.replace(" ", "") if text[0] in "<>=!~" else f"=={text}"


def _first_nonzero(version: str) -> int:
    numbers = [int(part) for part in version.split(".")]
    return next((at for at, number in enumerate(numbers) if number), len(numbers) - 1)


def _next(version: str, at: int) -> str:
    """Increments the number at `at` and drops the rest: `1.2.3`, 0 → `2`."""
    numbers = [int(part) for part in version.split(".")]
    return ".".join(str(number) for number in [*numbers[:at], numbers[at] + 1])
