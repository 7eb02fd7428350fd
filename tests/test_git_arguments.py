"""Every call of git in the product: an argument that a caller, a row or a repository chose cannot be an option."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*ROOT.glob("flows/**/*.py"), *ROOT.glob("tasks/**/*.py")])
CALL = re.compile(
    r"(?:\w+\.)*_?git(?:\(\))?\.(?:run|attempt|talk|converse)"
    r"|Git\(.*\)\.(?:run|attempt|talk|converse)|self\._program\('git'\)\.run|self\._git|self\._run|_git"
)
"""Functions that start git, as `ast.unparse` writes them. `_run` is a wrapper in `changes.py`."""
END = ("--", "--end-of-options")
WITH_A_VALUE = ("-C", "--git-dir", "--work-tree", "-e", "-c")
"""Options of git that take the next argument, whatever it begins with."""
CHECKED = re.compile(r"_plain\(.*\)")
"""A function that refuses an option by itself."""
PRINTED_BY_GIT = {"judge.py": "self.base"}
"""The commit that `git rev-parse` gave the judge of a Harbor task: `git reset` knows no `--end-of-options` in 2.39."""
WRAPPERS = ("args", "arguments", "argv", "options")
"""`*args` of a function that hands its own arguments on: its callers are read. `options` are constants."""


def is_ours(node: ast.expr) -> bool:
    """Whether an argument begins with text that this project wrote."""
    if isinstance(node, ast.JoinedStr):
        first = node.values[0]
        return isinstance(first, ast.Constant) and bool(first.value)
    if isinstance(node, ast.BinOp):
        return is_ours(node.left)
    plain = ast.unparse(node)
    return isinstance(node, ast.Constant) or plain.rpartition(".")[2].isupper() or bool(CHECKED.fullmatch(plain))


def flat(nodes: Sequence[ast.expr], scope: ast.AST) -> Iterator[ast.expr]:
    """Arguments with the tuples that are starred among them put in place, those of local names as well."""
    for node in nodes:
        inner = node.value if isinstance(node, ast.Starred) else None
        if isinstance(inner, ast.Name) and not inner.id.strip("_").isupper():
            given = [one.value for one in ast.walk(scope) if isinstance(one, ast.Assign) and names(one) == [inner.id]]
            yield from (part for value in given for part in flat([ast.Starred(value)], scope))
            if not given and inner.id not in WRAPPERS:
                yield inner
        elif isinstance(inner, ast.Tuple | ast.List):
            yield from flat(inner.elts, scope)
        elif isinstance(inner, ast.IfExp):
            yield from flat([ast.Starred(inner.body), ast.Starred(inner.orelse)], scope)
        elif isinstance(inner, ast.BoolOp):
            yield from (part for value in inner.values for part in flat([ast.Starred(value)], scope))
        else:
            yield inner or node


def names(assigned: ast.Assign) -> list[str]:
    return [target.id for target in assigned.targets if isinstance(target, ast.Name)]


def unguarded(path: Path) -> list[str]:
    """Arguments of git that are not ours and that nothing keeps from being options."""
    found = []
    tree = ast.parse(path.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for scope in functions:
        for call in (node for node in ast.walk(scope) if isinstance(node, ast.Call)):
            argv = arguments_of_git(call)
            before = ""
            for argument in flat(argv, scope):
                if isinstance(argument, ast.Constant) and argument.value in END:
                    break
                printed = ast.unparse(argument).startswith(PRINTED_BY_GIT.get(path.name, " "))
                if not printed and not is_ours(argument) and before not in WITH_A_VALUE:
                    found.append(f"{path.name}:{call.lineno}: {ast.unparse(argument)}")
                before = argument.value if isinstance(argument, ast.Constant) else ""
    return found


def arguments_of_git(call: ast.Call) -> list[ast.expr]:
    if CALL.fullmatch(ast.unparse(call.func)):
        words = [part for part in call.args[:1] if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        return list(call.args) if words or any(isinstance(part, ast.Starred) for part in call.args[:1]) else []
    inside = [arg for arg in call.args if isinstance(arg, ast.List | ast.Tuple) and arg.elts]
    lists = [arg for arg in inside if ast.unparse(arg.elts[0]) in ("'git'", "*_GIT")]
    return [part for one in lists for part in one.elts]


@pytest.mark.slow
def test_no_argument_of_git_that_somebody_chose_can_be_an_option() -> None:
    assert [found for path in SOURCES for found in unguarded(path)] == []


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("self._git.run('fetch', source)", ["source"]),
        ("self._git.run('fetch', '--', source)", []),
        ("at = ('log', head)\n    git.run(*at)", ["head"]),
        ("at = ('--git-dir', folder)\n    git.run(*at, 'log', f'{a}b')", ["f'{a}b'"]),
        ("subprocess.run(['git', 'clone', url])", ["url"]),
        ("Git(root).attempt('grep', '-e', text, _plain(sha))", []),
        ("git.run('read-tree', *some)", ["some"]),
    ],
)
def test_such_an_argument_is_seen(tmp_path: Path, body: str, wrong: list[str]) -> None:
    file = tmp_path / "module.py"
    file.write_text(f"def function():\n    {body}\n")
    assert [found.rpartition(": ")[2] for found in unguarded(file)] == wrong
