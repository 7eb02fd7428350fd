"""Code that never runs: statements of one version of a file, put into the other one where they have no effect.

A test that looks for a fix in the syntax tree, or in what a function was compiled to, sees it in a placebo as well.
The condition never holds: in a function the compiler cannot know that, and keeps names and constants; in a class the
statements are in the syntax tree alone.

Even so a statement can have an effect: an assignment makes a name local, a `yield` makes a generator. Such a one is
left out: `same_scopes` looks at what every name means to everything else.

The condition is drawn anew for each edit, and a simple statement shares its line with it: who strips what has our form,
or asks a tracer which lines run, sees what the fix adds on both sides.
"""

from __future__ import annotations

import ast
import random
import symtable
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from tasks.adapters.patch.read import split_lines
from tasks.domain.syntax import check_compiles, scopes, syntax_tree

NEVER = "not __name__"
NEVER_IN_A_CLASS = "0"
"""There nothing is looked up: the names of a class body can be anybody's."""

_EFFECTS = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.AnnAssign)
"""What changes the function or class around it although it never runs."""

_UNSAID = ("not ready", "no such", "see above", "as is", "left out", "or so")
"""No module is called so."""
_OF_NAME = (
    NEVER,
    "{text!r} in __name__",
    "__name__ == {text!r}",
    "__name__.endswith({text!r})",
    "__name__[:0]",
    "() > (__name__,)",
    "[] == [__name__]",
)
_OF_ARGUMENT = ("[] is {name}", "{name} is not {name}", "{{}} is {name}", "[{name}] is {name}", "({name},) is {name}")
"""What is made just now is nothing that was there, and nothing asks the argument itself."""
_IN_A_CLASS = (NEVER_IN_A_CLASS, "None", "''", "()", "False")
_SIMPLE = (ast.Assign, ast.Assert, ast.AugAssign, ast.Delete, ast.Expr, ast.Raise, ast.Return)
_Function = ast.FunctionDef | ast.AsyncFunctionDef

_Names = dict[str, tuple[bool, ...]]


def touched(text: str, tree: ast.Module, lines: Iterable[int]) -> tuple[ast.stmt, ...]:
    """The outermost statements that have one of these lines (1-based) for themselves and not inside another statement.

    Empty lines, comments, and statements that are a text alone are nobody's.
    """
    every = split_lines(text)
    wanted = {line for line in lines if every[line - 1].strip() and not every[line - 1].lstrip().startswith("#")}
    return tuple(_touched(tree, wanted))


def never_run(node: ast.stmt, indent: str, *, in_class: bool) -> str:
    """The statement below a condition that never holds, rendered anew; empty where it cannot be put anywhere."""
    if any(isinstance(part, _EFFECTS) or starred_subscript(part) for part in ast.walk(node)):
        return ""
    try:
        body = ast.unparse(node)
    except (ValueError, RecursionError):
        return ""
    condition = NEVER_IN_A_CLASS if in_class else NEVER
    return textwrap.indent(f"if {condition}:\n{textwrap.indent(body, '    ')}\n", indent)


def starred_subscript(node: ast.AST) -> bool:
    """Whether it is rendered as `x[*y]`, which is read by Python 3.11 and later only."""
    inside = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(inside, ast.Tuple) and any(isinstance(each, ast.Starred) for each in inside.elts)


def never_runs(node: ast.stmt) -> bool:
    """Whether a statement is of the kind made here."""
    return isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) in (NEVER, NEVER_IN_A_CLASS)


def with_drawn_conditions(text: str, draw: random.Random) -> str:
    """`text` with another condition that never holds for each of those made here."""
    lines = split_lines(text)
    for owner, node in sorted(_dead(syntax_tree(text)), key=lambda pair: -pair[1].lineno):
        line = lines[node.lineno - 1]
        head = f"{line[: len(line) - len(line.lstrip())]}if {_condition(owner, draw)}:"
        first, last = node.body[0].lineno, node.end_lineno
        simple = isinstance(node.body[0], _SIMPLE) and len(node.body) == 1 and first == last == node.lineno + 1
        below = [f"{head} {lines[first - 1].lstrip()}"] if simple else [f"{head}\n", *lines[node.lineno : last]]
        lines[node.lineno - 1 : last] = below
    return "".join(lines)


def _dead(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.If]]:
    """What never runs, but for what is inside of it, each with the definition around it."""
    waiting: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while waiting:
        owner, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and never_runs(child):
                yield owner, child
            else:
                waiting.append((child if isinstance(child, _Function | ast.ClassDef | ast.Lambda) else owner, child))


def _condition(owner: ast.AST, draw: random.Random) -> str:
    if isinstance(owner, ast.ClassDef):
        return draw.choice(_IN_A_CLASS)
    names = _arguments(owner) if isinstance(owner, _Function) else []
    form = draw.choice((*_OF_NAME, *_OF_ARGUMENT) if names else _OF_NAME)
    return form.format(text=draw.choice(_UNSAID), name=draw.choice(names or [""]))


def _arguments(function: _Function) -> list[str]:
    """Arguments that are there for as long as the function runs."""
    args = function.args
    every = (*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg)))
    gone = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)}
    gone |= {node.name or "" for node in ast.walk(function) if isinstance(node, ast.ExceptHandler)}
    return [each.arg for each in every if each.arg not in gone]


def same_scopes(text: str, original: str) -> bool:
    """Whether `text` compiles, and every name means in it what it means in `original`, but for code that never runs."""
    try:
        check_compiles(text)
        return _agree(_Scopes(text), _Scopes(original))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


class _Scopes:
    """The scopes of a module without those of code that never runs."""

    def __init__(self, text: str) -> None:
        every = (node for node in ast.walk(syntax_tree(text)) if isinstance(node, ast.stmt))
        self.dead = frozenset(_lines([node for node in every if never_runs(node)]))
        self.top = scopes(text)

    def every(self) -> Iterator[tuple[str, _Names]]:
        """Name and names of each, from the outside in."""
        waiting = [self.top]
        while waiting:
            scope = waiting.pop()
            yield scope.get_name(), {symbol.get_name(): _meaning(symbol) for symbol in scope.get_symbols()}
            waiting += [child for child in scope.get_children() if child.get_lineno() not in self.dead]


def _agree(edited: _Scopes, original: _Scopes) -> bool:
    ours, theirs = list(edited.every()), list(original.every())
    if [name for name, _ in ours] != [name for name, _ in theirs]:
        return False
    return all(_keeps(new, old) for (_, new), (_, old) in zip(ours, theirs, strict=True))


def _keeps(new: _Names, old: _Names) -> bool:
    """Names may come, but for the cell that `super()` asks of a class: its metaclass would see it."""
    return "__class__" not in new.keys() - old.keys() and all(new.get(name) == how for name, how in old.items())


def _meaning(symbol: symtable.Symbol) -> tuple[bool, ...]:
    return (symbol.is_local(), symbol.is_global(), symbol.is_free(), symbol.is_nonlocal(), symbol.is_declared_global())


def _touched(node: ast.AST, wanted: set[int]) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt):
            yield from _touched(child, wanted)
        elif not _lines([child]) & wanted:
            continue
        elif _own_lines(child) & wanted:
            if not _is_text(child):
                yield child
        else:
            yield from _touched(child, wanted)


def _own_lines(node: ast.stmt) -> set[int]:
    """Its lines without those of the statements in it; its decorators are its own."""
    inner = [part for part in ast.walk(node) if isinstance(part, ast.stmt) and part is not node]
    return _lines([node]) - _lines(inner)


def _lines(nodes: Sequence[ast.stmt]) -> set[int]:
    return {
        line
        for node in nodes
        for line in range(
            min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]),
            (node.end_lineno or node.lineno) + 1,
        )
    }


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
