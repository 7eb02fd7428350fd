"""Reads setup.cfg by its parser and setup.py by its syntax tree; runs neither."""

from __future__ import annotations

import ast
import configparser
from collections.abc import Mapping
from typing import Any

from tasks.domain.syntax import syntax_tree
from tasks.environment.project_files.project import Project
from tasks.environment.project_files.requirements import Read, read_requirements

_UNKNOWN = object()
_DEPTH = 20


def read_setup_cfg(read: Read) -> Project:
    """Returns the facts in setup.cfg; empty if it is missing or cannot be parsed."""
    config = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        config.read_string(read("setup.cfg") or "")
    except configparser.Error:
        return Project()
    value = _option(config)
    extras = dict(config["options.extras_require"]) if config.has_section("options.extras_require") else {}
    return Project(
        name=value("metadata", "name"),
        requires_python=value("options", "python_requires"),
        classifiers=_lines(value("metadata", "classifiers"), read),
        dependencies=_lines(value("options", "install_requires"), read),
        extras={name: _lines(text, read) for name, text in extras.items()},
        test_requires=_lines(value("options", "tests_require"), read),
        package_root=_cfg_root(value("options", "package_dir"), value("options.packages.find", "where")),
    )


def _option(config: configparser.ConfigParser) -> Any:
    def value(section: str, name: str) -> str:
        return config.get(section, name, fallback="").strip()

    return value


def _lines(text: str, read: Read) -> tuple[str, ...]:
    """Parses a list of setup.cfg: lines, or semicolons on one line (never inside a marker), or `file: a, b`."""
    if text.startswith("file:"):
        paths = [path.strip() for path in text.removeprefix("file:").split(",")]
        return tuple(line for path in paths for line in read_requirements(read, path).lines)
    lines = (line.partition(" #")[0].strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def _cfg_root(package_dir: str, where: str) -> str | None:
    for line in package_dir.splitlines():
        key, equals, folder = line.partition("=")
        if equals and not key.strip():
            return folder.strip()
    return where or None


def read_setup_py(read: Read) -> Project:
    """Returns the arguments of `setup()` in setup.py, as far as literals, earlier names and files determine them."""
    try:
        tree = syntax_tree(read("setup.py") or "")
    except (SyntaxError, ValueError):
        return Project()
    names = _bindings(tree)
    call = _setup_call(tree)
    facts = {word.arg: _value(word.value, names) for word in call.keywords if word.arg} if call else {}
    for word in call.keywords if call else []:
        spread = _value(word.value, names) if word.arg is None else None
        facts = {**(spread if isinstance(spread, dict) else {}), **facts}
    return _project(facts)


def _project(facts: Mapping[str, Any]) -> Project:
    found, layout = facts.get("extras_require"), facts.get("package_dir")
    texts = {_text(name): _texts(lines) for name, lines in found.items()} if isinstance(found, dict) else {}
    dependencies, extras = _conditions(texts)
    return Project(
        name=_text(facts.get("name")),
        requires_python=_text(facts.get("python_requires")),
        classifiers=_texts(facts.get("classifiers")),
        dependencies=(*_texts(facts.get("install_requires")), *dependencies),
        extras=extras,
        test_requires=_texts(facts.get("tests_require")),
        package_root=_text(layout.get("")) or None if isinstance(layout, dict) else None,
    )


def _conditions(extras: Mapping[str, tuple[str, ...]]) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Returns (dependencies, extras) of a table whose keys may be `extra:marker`, as setup() accepts them.

    A key without the name of an extra is a dependency.
    """
    named: dict[str, tuple[str, ...]] = {}
    for key, lines in extras.items():
        name, _, marker = key.partition(":")
        bound = tuple(_where(line, marker) for line in lines) if marker.strip() else lines
        named[name] = named.get(name, ()) + bound
    return named.pop("", ()), named


def _where(line: str, marker: str) -> str:
    needed, semicolon, own = line.partition(";")
    return f"{needed.strip()}; ({own.strip()}) and ({marker})" if semicolon else f"{line}; {marker}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(line.strip() for line in value.splitlines() if line.strip())
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else ()


def _bindings(tree: ast.Module) -> dict[str, ast.expr]:
    """Returns the names that are assigned anywhere in the file; the last assignment wins.

    Includes later keys of a dict, and additions outside of any condition.
    """
    found: dict[str, ast.expr] = {}
    unconditional = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                _assign(target, node.value, found)
        elif isinstance(node, ast.AnnAssign) and node.value:
            _assign(node.target, node.value, found)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
            name = node.target.id
            if name in found and id(node) in unconditional:
                found[name] = ast.BinOp(found[name], node.op, node.value)
    return found


def _assign(target: ast.expr, value: ast.expr, found: dict[str, ast.expr]) -> None:
    match target:
        case ast.Name(id=name):
            found[name] = value
        case ast.Subscript(value=ast.Name(id=name), slice=key):
            if isinstance(known := found.get(name), ast.Dict):
                known.keys.append(key)
                known.values.append(value)


def _setup_call(tree: ast.Module) -> ast.Call | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _callee(node.func) == "setup":
            return node
    return None


def _callee(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _value(node: ast.expr, names: Mapping[str, ast.expr], depth: int = 0) -> Any:
    """Returns the value of an expression of literals and known names; `_UNKNOWN` for other expressions."""
    if depth > _DEPTH:
        return _UNKNOWN
    deeper = depth + 1
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in names:
            return _value(names[name], names, deeper)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, names, deeper) for item in items]
        case ast.Dict(keys=keys, values=values):
            pairs = [(_value(key, names, deeper), value) for key, value in zip(keys, values, strict=True) if key]
            return {key: _value(value, names, deeper) for key, value in pairs if isinstance(key, str)}
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _add(_value(left, names, deeper), _value(right, names, deeper))
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            return _percent(_value(left, names, deeper), _value(right, names, deeper))
        case ast.JoinedStr(values=parts):
            return _joined([_value(part, names, deeper) for part in parts])
        case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
            return _value(inner, names, deeper)
        case ast.Call(func=ast.Name(id="dict"), keywords=words):
            return {word.arg: _value(word.value, names, deeper) for word in words if word.arg}
        case _:
            return _UNKNOWN


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(left, list) or isinstance(right, list):
        return [*(left if isinstance(left, list) else []), *(right if isinstance(right, list) else [])]
    return _UNKNOWN


def _percent(left: Any, right: Any) -> Any:
    """Evaluates `"a>=%s" % version`."""
    values = tuple(right) if isinstance(right, list) else (right,)
    if not isinstance(left, str) or _UNKNOWN in values:
        return _UNKNOWN
    try:
        return left % values
    except (TypeError, ValueError):
        return _UNKNOWN


def _joined(parts: list[Any]) -> Any:
    return "".join(parts) if all(isinstance(part, str) for part in parts) else _UNKNOWN
