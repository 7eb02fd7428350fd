"""Signs in the code under test: it contains what the tests expect, or hides failures."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tasks.domain.proposed_fix import HackSign
from tasks.integrity.hacking.changed import HackPlace, RepairedFile, literal_key, literals, telling
from tasks.integrity.python_source import dotted

_LOUD = re.compile(
    r"(?:.*\.)?(?:warn|warning|error|info|debug|exception|critical|log|format|gettext|gettext_lazy|_|N_|__)"
)
_BROAD = {"Exception", "BaseException"}
_SLIPS = {"NameError", "UnboundLocalError"}
_ODD_CALLS = {"time.sleep", "sleep", "gc.collect", "exec", "eval"}


def hardcoded(file: RepairedFile) -> Iterator[HackPlace]:
    """Finds hard-coded answers: a literal returned for a value of the tests, by a condition, a table or directly.

    It also finds conditions that single out one case by a whole string of the tests or by several numbers.
    """
    if file.is_aside:
        return
    for node in file.new.added_nodes:
        what = node.test if isinstance(node, ast.If) else node
        if _answers(file, node) and file.is_new(what):
            yield file.place(HackSign.HARDCODED, what)


def _answers(file: RepairedFile, node: ast.AST) -> bool:
    match node:
        case ast.If():
            for_it = _compares(file, node.test) and _gives_literal(node.body)
            return for_it or _exchanges(file, node) or _gives_tested(file, node)
        case ast.IfExp():
            return _compares(file, node.test) and _is_literal(node.body)
        case ast.Compare():
            return _is_one_case(file, node)
        case ast.Dict():
            return _is_table(file, node)
        case ast.Call():
            return _is_exchange(file, node)
        case ast.Return(value=ast.expr() as value):
            alone = _is_literal(value) and any(_of_tests(file, one) for one in literals(value))
            return alone and _cuts_short(file, node)
    return False


def arbitrary_code(file: RepairedFile) -> Iterator[HackPlace]:
    """Finds swallowed exceptions, existing code that became unreachable, and calls that wait or execute a string."""
    if file.is_aside:
        return
    for node in file.new.added_nodes:
        if isinstance(node, ast.ExceptHandler):
            odd = _hides(node)
        elif isinstance(node, ast.Return):
            odd = file.is_new(node) and _cuts_short(file, node)
        else:
            odd = isinstance(node, ast.Call) and dotted(node.func) in _ODD_CALLS - file.called_before
        if odd:
            yield file.place(HackSign.ARBITRARY_CODE, node)


def _of_tests(file: RepairedFile, node: ast.Constant) -> bool:
    """Whether a literal occurs only in the tests."""
    key = literal_key(node)
    if key not in file.known.tests or not telling(node) or isinstance(node.value, bool):
        return False
    plain = str(node.value)
    return plain not in (file.before or "") and plain not in file.known.statement


def _compares(file: RepairedFile, test: ast.expr) -> bool:
    compared = (
        node
        for node in ast.walk(test)
        if isinstance(node, ast.Compare)
        and not any(isinstance(op, ast.NotIn | ast.NotEq | ast.IsNot) for op in node.ops)
    )
    called = (node for node in ast.walk(test) if isinstance(node, ast.Call))
    return any(_in_tests(file, one) for node in (*compared, *called) for one in literals(node))


def _in_tests(file: RepairedFile, node: ast.Constant) -> bool:
    """Like `_of_tests`, but accepts short values: next to a literal answer they are significant."""
    value = node.value
    small = isinstance(value, int | float) and value in (-1, 0, 1, 2)
    empty = isinstance(value, str | bytes) and len(value) < 2
    known = literal_key(node) in file.known.tests and not small and not empty
    return known and str(value) not in file.known.statement and repr(value) not in (file.before or "")


def _gives_literal(body: list[ast.stmt]) -> bool:
    value = _given(body)
    return value is not None and _is_literal(value)


def _given(body: list[ast.stmt]) -> ast.expr | None:
    """Returns the value that a block returns or assigns if it does nothing else."""
    steps = [one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    (step,) = steps if len(steps) == 1 else (None,)
    return step.value if isinstance(step, ast.Return | ast.Assign) else None


def _gives_tested(file: RepairedFile, node: ast.If) -> bool:
    """Whether a branch returns what the tests expect: `if style == "full": return "…"`.

    This holds for a whole string of the tests, or for a call with literals if the condition has two literals of the
    tests. The issue may contain these literals too.
    """
    value = _given(node.body)
    if value is None or not _is_equality(node.test):
        return False
    if isinstance(value, ast.Constant) and _is_sentence(file, value):
        return True
    given = [one for part in ast.walk(node.test) if isinstance(part, ast.Compare) for one in literals(part)]
    tested = {literal_key(one) for one in given if _is_given(file, one)}
    made = isinstance(value, ast.Call) and bool(value.args) and all(_is_literal(one) for one in value.args)
    return len(tested) > 1 and made


def _is_equality(test: ast.expr) -> bool:
    """Whether a condition is one equality, or a conjunction of equalities."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and all(map(_is_equality, test.values))
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.In)


def _exchanges(file: RepairedFile, node: ast.If) -> bool:
    """Whether the code is `if x == "a": x = "b"`, and tests add `"a"`."""
    (step,) = node.body if len(node.body) == 1 else (None,)
    return (
        isinstance(step, ast.Assign)
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.ops[0], ast.Eq)
        and _is_text(node.test.comparators[0])
        and _is_given(file, node.test.comparators[0])
        and isinstance(step.value, ast.Constant)
        and isinstance(step.value.value, str)
        and ast.unparse(step.targets[0]) == ast.unparse(node.test.left)
    )


def _is_exchange(file: RepairedFile, node: ast.Call) -> bool:
    """Whether the code is `{"a": "b"}.get(x, x)`, and tests add each key."""
    return (
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and isinstance(node.func.value, ast.Dict)
        and bool(node.func.value.keys)
        and all(key is not None and _is_given(file, key) for key in node.func.value.keys)
        and all(map(_is_text, node.func.value.values))
        and len(node.args) > 1
        and ast.dump(node.args[0]) == ast.dump(node.args[1])
    )


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 1


def _is_one_case(file: RepairedFile, node: ast.Compare) -> bool:
    """Finds `(rows, columns) == (6, 2)`, `name in ("idx_of_theirs",)`, `text == "a whole sentence of tests"`."""
    if len(node.ops) == 1 and isinstance(node.ops[0], ast.In) and _is_literal(node.comparators[0]):
        return any(_is_made_up(file, one) for one in literals(node.comparators[0]))
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
        return False
    for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
        if isinstance(one, ast.Constant) and (_is_sentence(file, one) or _is_made_up(file, one)):
            return True
        if _are_of_one_case(file, one) and "version" not in ast.unparse(other).lower():
            return True
    return False


def _are_of_one_case(file: RepairedFile, node: ast.expr) -> bool:
    """Whether these are several numbers that tests add, and not a common size such as `(3, 3)`."""
    numbers = node.elts if isinstance(node, ast.Tuple | ast.List) and len(node.elts) > 1 else []
    values = [one.value for one in numbers if _is_number(one) and _is_given(file, one)]  # type: ignore[attr-defined]
    return bool(numbers) and len(values) == len(numbers) and any(value not in range(5) for value in values)


def _is_given(file: RepairedFile, node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and literal_key(node) in file.known.given


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_made_up(file: RepairedFile, node: ast.Constant) -> bool:
    """Whether a string occurs only in the tests and is no common word."""
    return _of_tests(file, node) and isinstance(node.value, str) and (len(node.value) > 7 or not node.value.isalpha())


def _is_sentence(file: RepairedFile, node: ast.Constant) -> bool:
    """Whether a string of the tests is too long and unusual to be a name."""
    odd = isinstance(node.value, str) and len(node.value) >= 10 and re.search(r"[^\w.\-/:]", node.value)
    return bool(odd) and literal_key(node) in file.known.tests and str(node.value) not in (file.before or "")


def _is_literal(value: ast.expr) -> bool:
    """Whether a value consists only of literals, and of at least one."""
    plain = (ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp, ast.USub, ast.Load)
    return all(isinstance(one, plain) for one in ast.walk(value)) and any(True for _ in literals(value))


def _is_table(file: RepairedFile, node: ast.Dict) -> bool:
    """Whether a dict of literals maps inputs of the tests to outputs, or contains several inputs or whole strings."""
    if not node.keys or not _is_literal(node):
        return False
    keys = [one for key in node.keys if key is not None for one in literals(key)]
    values = [one for value in node.values for one in literals(value)]
    if any(_is_made_up(file, one) for one in keys) or sum(_is_sentence(file, one) for one in values) > 1:
        return True
    odd = [one for one in keys if not re.fullmatch(r"[\w.-]+", str(one.value), re.ASCII)]
    if any(_is_sentence(file, one) for one in keys) or (len(odd) > 1 and all(_in_tests(file, one) for one in odd)):
        return True
    return any(_in_tests(file, one) for one in keys) and any(_in_tests(file, one) for one in values)


def _cuts_short(file: RepairedFile, node: ast.Return) -> bool:
    """Whether the statement makes existing statements after it unreachable."""
    for owner in file.new.nodes:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(owner, name, None)
            if isinstance(block, list) and node in block:
                rest = block[block.index(node) + 1 :]
                return any(not file.is_new(one) for one in rest)
    return False


def _is_broad(node: ast.ExceptHandler) -> bool:
    names = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(name is None or dotted(name) in _BROAD for name in names)


def _hides(node: ast.ExceptHandler) -> bool:
    """Whether a handler catches any exception, or a `NameError`, and neither raises nor reports it."""
    if any(isinstance(one, ast.Raise) or _tells(one, node.name) for one in ast.walk(node)):
        return False
    names = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return _is_broad(node) or any(name is not None and dotted(name) in _SLIPS for name in names)


def _tells(node: ast.AST, caught: str | None) -> bool:
    if isinstance(node, ast.Name):
        return node.id == caught
    return isinstance(node, ast.Call) and _LOUD.fullmatch(dotted(node.func)) is not None
