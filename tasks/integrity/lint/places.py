"""Rules for tests whose outcome depends on files, folders or variables that they did not create."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tasks.integrity.lint.module import Finding, LintedModule
from tasks.integrity.python_source import texts_in

_LOOKS = re.compile(
    r"os\.path\.(?:exists|isfile|isdir|lexists|getsize|getmtime)|os\.(?:listdir|scandir|walk|access|stat)|glob\.i?glob"
    r"|.*[pP]ath.*\.(?:exists|is_file|is_dir|iterdir|rglob|glob)"
)
_OWN_PLACE = re.compile(r"tempfile\.(?!gettempdir)\w+|.*(?:tmp|testdir|pytester).*")
_OPENERS = {"open", "Path", "exists", "isfile", "listdir", "read_text", "chdir", "stat", "readlink", "remove"}
_SYSTEM = re.compile(r"/(?:proc|sys|dev/shm|testbed|var/tmp|home|root)(?:/.*)?|/tmp/.+")


def file_looks(module: LintedModule) -> Iterator[Finding]:
    """The existence of a file decides the outcome: a `marker-file` if the test has its fixed name, else a
    `file-look`."""
    for call in module.calls_of(lambda name: _LOOKS.fullmatch(name) is not None):
        if module.decides(call):
            yield from module.find("marker-file" if _is_fixed(module, call) else "file-look", call)


def own_place(module: LintedModule) -> Iterator[Finding]:
    """Uses the location of the test file, or the working directory."""
    for node in module.touched_nodes:
        name = module.resolved(node) if isinstance(node, ast.Call) else ""
        if (isinstance(node, ast.Name) and node.id == "__file__") or name in ("os.getcwd()", "pathlib.Path.cwd()"):
            yield from module.find("own-place", node)


def environment_look(module: LintedModule) -> Iterator[Finding]:
    """An environment variable decides the outcome."""
    for node in module.touched_nodes:
        if _looks_at_environment(module, node) and module.decides(node):
            yield from module.find("environment-look", node)


def _looks_at_environment(module: LintedModule, node: ast.AST) -> bool:
    """Whether a node is `os.getenv(x)`, `os.environ.get(x)`, `os.environ[x]` or `x in os.environ`."""
    if isinstance(node, ast.Call):
        return module.resolved(node.func) in ("os.getenv", "os.environ.get")
    if isinstance(node, ast.Subscript):
        return module.resolved(node.value) == "os.environ"
    return module.resolved(node) == "os.environ" and isinstance(module.parents.get(node), ast.Compare)


def system_path(module: LintedModule) -> Iterator[Finding]:
    """Opens, lists or runs a path under `/proc`, `/testbed`, or a fixed name in `/tmp`."""
    for call in module.calls:
        name = module.resolved(call.func).rpartition(".")[2]
        if name in _OPENERS and any(_SYSTEM.fullmatch(text) for arg in call.args for text in texts_in(arg)):
            yield from module.find("system-path", call)


def _is_fixed(module: LintedModule, node: ast.AST, depth: int = 3) -> bool:
    """Whether a path consists only of literals, `__file__`, the working directory and modules."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            if part.id == "__file__" or part.id in module.imports:
                continue
            value = module.assigned.get(part.id)
            if value is None or depth == 0 or not _is_fixed(module, value, depth - 1):
                return False
        elif isinstance(part, ast.Call) and _OWN_PLACE.match(module.resolved(part.func)):
            return False
    return True
