"""Tests that look at the text of the code instead of running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tasks.integrity.lint.module import Finding, LintedModule
from tasks.integrity.python_source import texts_in

_INSPECT = re.compile(
    r"inspect\.(?:getsource\w*|getfile|findsource|getcomments|getblock)|linecache\.\w+|dis\.\w+|pkgutil\.get_(?:data|loader)"
    r"|tokenize\.open|.*\.get_source|.*loader.*\.get_(?:code|data)|importlib\.util\.find_spec|importlib\.resources\..*"
)
_CODE = {"__code__", "co_code", "co_consts", "co_names", "co_varnames", "co_lnotab", "co_firstlineno", "func_code"}
_READS = re.compile(r"(?:io\.|codecs\.)?open|.*\.(?:read_text|read_bytes|open)")
_DOCS = {"__doc__"}


def source_inspection(module: LintedModule) -> Iterator[Finding]:
    """`inspect.getsource(f)` and what does the same."""
    for call in module.calls_of(lambda name: _INSPECT.fullmatch(name) is not None):
        yield from module.find("source-inspection", call)


def code_object(module: LintedModule) -> Iterator[Finding]:
    """`f.__code__.co_consts` …"""
    for node in module.touched_nodes:
        if isinstance(node, ast.Attribute) and node.attr in _CODE:
            yield from module.find("code-object", node)


def source_file(module: LintedModule) -> Iterator[Finding]:
    """Opening a `.py` file of the project, by name or by the `__file__` of a module."""
    for call in module.calls_of(lambda name: _READS.fullmatch(name) is not None):
        parts = list(_followed(module, call))
        if not _writes(call) and any(map(_is_source, parts)):
            yield from module.find("source-file", call)


def module_file(module: LintedModule) -> Iterator[Finding]:
    """Where a module of the project lies: `package.__file__`, not the test's own."""
    for node in module.touched_nodes:
        if isinstance(node, ast.Attribute) and node.attr in ("__file__", "__path__", "__cached__"):
            yield from module.find("module-file", node)


def documentation(module: LintedModule) -> Iterator[Finding]:
    """A docstring that decides: a fix often changes it."""
    for node in module.touched_nodes:
        if isinstance(node, ast.Attribute) and node.attr in _DOCS and module.decides(node):
            yield from module.find("documentation", node)


def version(module: LintedModule) -> Iterator[Finding]:
    """The project's version decides."""
    for node in module.touched_nodes:
        name = module.resolved(node) if isinstance(node, ast.Attribute | ast.Call) else ""
        told = name.endswith(".__version__") or name in (
            "importlib.metadata.version()",
            "pkg_resources.get_distribution()",
        )
        if told and module.decides(node):
            yield from module.find("version", node)


def _followed(module: LintedModule, call: ast.Call) -> Iterator[ast.AST]:
    """Everything below a call, and below the values of the variables that it uses, two steps deep."""
    waiting: list[tuple[ast.AST, int]] = [(call, 0)]
    while waiting:
        node, depth = waiting.pop()
        for part in ast.walk(node):
            yield part
            if isinstance(part, ast.Name) and depth < 2 and part.id in module.assigned:
                waiting.append((module.assigned[part.id], depth + 1))


def _is_source(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "__file__":
        return True
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _names_source(node.value)


def _names_source(text: str) -> bool:
    """`django/db/models/query.py`, but no file that a test makes for itself in its own folder."""
    return re.fullmatch(r"(?:[\w.-]*/)+[\w-]+\.py", text) is not None and "test" not in text


def _writes(call: ast.Call) -> bool:
    modes = [text for arg in (*call.args[1:2], *call.keywords) for text in texts_in(arg)]
    return any(re.fullmatch(r"[wax]\+?[bt]?\+?", mode) for mode in modes)
