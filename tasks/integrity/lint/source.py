"""Rules for tests that read the text of the code instead of running it."""

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
    """Calls `inspect.getsource(f)` or an equivalent."""
    for call in module.calls_of(lambda name: _INSPECT.fullmatch(name) is not None):
        yield from module.find("source-inspection", call)


def code_object(module: LintedModule) -> Iterator[Finding]:
    """Reads `f.__code__.co_consts` or another attribute of a code object."""
    for node in module.touched_nodes:
        if isinstance(node, ast.Attribute) and node.attr in _CODE:
            yield from module.find("code-object", node)


def source_file(module: LintedModule) -> Iterator[Finding]:
    """Opens a `.py` file of the project, by name or by the `__file__` of a module."""
    for call in module.calls_of(lambda name: _READS.fullmatch(name) is not None):
        parts = list(_followed(module, call))
        if not _writes(call) and any(map(_is_source, parts)):
            yield from module.find("source-file", call)


def module_file(module: LintedModule) -> Iterator[Finding]:
    """Uses the location of a module of the project: `package.__file__`, not the test's own."""
    for node in module.touched_nodes:
        if isinstance(node, ast.Attribute) and node.attr in ("__file__", "__path__", "__cached__"):
            yield from module.find("module-file", node)


def documentation(module: LintedModule) -> Iterator[Finding]:
    """A docstring decides the outcome: a fix often changes it."""
    for node in module.touched_nodes:
        if isinstance(node, ast.Attribute) and node.attr in _DOCS and module.decides(node):
            yield from module.find("documentation", node)


def version(module: LintedModule) -> Iterator[Finding]:
    """The project's version decides the outcome."""
    for node in module.touched_nodes:
        name = module.resolved(node) if isinstance(node, ast.Attribute | ast.Call) else ""
        told = name.endswith(".__version__") or name in (
            "importlib.metadata.version()",
            "pkg_resources.get_distribution()",
        )
        if told and module.decides(node):
            yield from module.find("version", node)


def _followed(module: LintedModule, call: ast.Call) -> Iterator[ast.AST]:
    """Yields every node below a call, and below the values of its variables, two steps deep."""
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
    """Whether the text is a path such as `django/db/models/query.py`; a file in a test's own folder is not."""
    return re.fullmatch(r"(?:[\w.-]*/)+[\w-]+\.py", text) is not None and "test" not in text


def _writes(call: ast.Call) -> bool:
    modes = [text for arg in (*call.args[1:2], *call.keywords) for text in texts_in(arg)]
    return any(re.fullmatch(r"[wax]\+?[bt]?\+?", mode) for mode in modes)
