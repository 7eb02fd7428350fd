"""Saying the same in other words: rewrites of a Python file that keep what it does, drawn from a secret.

Guards make them on both sides of a fix, so that "this file is not what it was" is true of every edited run, and what a
test could compare (text, lines, syntax trees, bytecode, names of locals) is another in each store. What is drawn:

locals         a local variable of a function gets another name (which the message of an `UnboundLocalError` tells)
temporaries    `return e`, `x = e` and `f(e)` go over a name of their own, which is dropped again
branches       `if c: A else: B` becomes `if not (c): B else: A`, and `if c: A` has an `else` of its own
conditions     what never runs does not run for another reason each time (dead_code.py)
idle work      names, constants and operators that run and come to nothing, so that what a function executes is another
               on both sides as well
definitions    unused private functions and imports between the definitions of the module, and at its end; functions
               of the other side of the fix, under private names, are among them
lines          comments and empty lines, so that everything below has another number

The text of a file is edited, not a rendering of its tree (so comments and quotes stay where they are), and Python's own
parser says where its parts stand: libcst would keep the text as well, at many times the cost and with a compiled
dependency. Only functions that nothing looks into by name (`locals`, `eval`, frames …) are touched inside.
"""

from __future__ import annotations

import ast
import random
import symtable
import tokenize
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tasks.adapters.patch.read import split_lines
from tasks.domain.syntax import check_compiles, scopes, syntax_tree
from tasks.evaluate.dead_code import with_drawn_conditions
from tasks.evaluate.idle_work import ADDED, BUILTINS, fresh, idle_work
from tasks.evaluate.quoting import same_meaning

_LOOK_INSIDE = {
    *("locals", "vars", "dir", "eval", "exec", "globals", "currentframe", "_getframe", "f_locals", "co_varnames"),
    *("__code__", "stack", "getsource", "setprofile", "settrace"),
}
"""Who says one of these names may see what its function's locals are called, or that there is one more."""
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_BINDS_BY_NAME = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
)
SHARE = 0.6
"""Of the places where something can be rewritten."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class _Swap:
    """Lines `first` to `last` (1-based, inclusive; `last` before `first` for a pure insertion) become `text`."""

    first: int
    last: int
    text: str


def rewritten(
    text: str,
    secret: str,
    spare: Sequence[Function] = (),
    thorough: Collection[str] = (),
    words: Sequence[str] = (),
) -> str | None:
    """`text` in other words, the same for the same secret; null where it cannot be parsed.

    It differs from `text` in more than code that never runs: it is drawn again until that is so. `spare` are functions
    to put somewhere between the others, where nobody calls them (they are such a difference); in functions of the names
    in `thorough` every statement is rewritten that can be, and idle work names some of `words`.
    """
    draw = random.Random(secret)  # noqa: S311 - the seed is what is secret
    try:
        text = with_drawn_conditions(text, draw)
        tree = syntax_tree(text)
        while True:
            renamed = _with_idle_work(_renamed(text, tree, draw), draw, thorough, words)
            made = _swapped(renamed, _draw_swaps(renamed, syntax_tree(renamed), draw, spare, thorough))
            made = _with_remarks(made, draw, thorough, words)
            check_compiles(made)
            if not same_meaning(made, tree):
                return made
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return None


def _renamed(text: str, tree: ast.Module, draw: random.Random) -> str:
    """With other names for some locals."""
    lines = [line.encode() for line in split_lines(text)]
    tables = {(table.get_name(), table.get_lineno()): table for table in _tables(scopes(text))}
    taken = words_of(tree)
    swaps: list[tuple[int, int, int, str]] = []
    for function in _plain_functions(tree):
        table = tables.get((function.name, function.lineno)) or tables.get((function.name, _first(function)))
        for old in sorted(_renamable(function, table)) if table else ():
            if draw.random() < SHARE:
                new = fresh(draw, taken)
                places = [node for node in _inside(function) if isinstance(node, ast.Name) and node.id == old]
                swaps += [(node.lineno, node.col_offset, len(old.encode()), new) for node in places]
    for line, column, length, new in sorted(swaps, reverse=True):
        at = lines[line - 1]
        lines[line - 1] = at[:column] + new.encode() + at[column + length :]
    return b"".join(lines).decode()


def _inside(function: Function) -> Iterator[ast.AST]:
    """What is in its scope: decorators, defaults and annotations have the names of outside."""
    return (node for statement in function.body for node in ast.walk(statement))


def _renamable(function: Function, table: symtable.SymbolTable) -> set[str]:
    """Locals that are bound as plain names only and that no scope below knows."""
    if any(isinstance(node, ast.JoinedStr | ast.Global | ast.Nonlocal) for node in ast.walk(function)):
        return set()  # before CPython 3.12 what is inside an f-string has no place of its own
    own = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_local() and not symbol.is_parameter()}
    stored = {node.id for node in _inside(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    otherwise = {
        name
        for node in ast.walk(function)
        for name in (
            *([node.name] if isinstance(node, _BINDS_BY_NAME) else []),
            *([node.rest] if isinstance(node, ast.MatchMapping) else []),
            *([(node.asname or node.name).partition(".")[0]] if isinstance(node, ast.alias) else []),
        )
        if name
    }
    below = {symbol.get_name() for child in _tables(table) if child is not table for symbol in child.get_symbols()}
    return {name for name in (own & stored) - otherwise - below if not name.startswith("__")}


def _with_idle_work(text: str, draw: random.Random, thorough: Collection[str], words: Sequence[str]) -> str:
    """With statements of no consequence between others: in functions of the names in `thorough`, and in some others."""
    tree, lines = syntax_tree(text), split_lines(text)
    taken = words_of(tree)
    builtins = BUILTINS - _bound_names(tree)
    swaps = []
    for function in _plain_functions(tree):
        places = [node for node in function.body[_has_docstring(function) :] if _alone(node, lines, end=False)]
        if not places or (function.name not in thorough and draw.random() >= SHARE):
            continue
        for expression in idle_work(draw, words if function.name in thorough else (), builtins=builtins):
            place, name = draw.choice(places), fresh(draw, taken)
            indent = _indent(lines[_first(place) - 1])
            done = f"{indent}{name} = {expression}\n{indent}del {name}\n"
            swaps.append(_Swap(_first(place), _first(place) - 1, done))
    return _swapped(text, swaps)


def _with_remarks(text: str, draw: random.Random, thorough: Collection[str], words: Sequence[str]) -> str:
    """With some of `words` in a remark on every line of functions in `thorough`: a traceback shows such lines."""
    if not words or not thorough:
        return text
    functions = [function for function in _plain_functions(syntax_tree(text)) if function.name in thorough]
    rows = {row for function in functions for row in range(function.lineno, _last(function) + 1)}
    lines = split_lines(text)
    ends = (tokenize.NEWLINE, tokenize.NL)
    for token in tokenize.generate_tokens(iter(lines).__next__) if rows else ():
        row, column = token.start
        if token.type in ends and row in rows and lines[row - 1].strip():
            named = draw.sample(words, min(len(words), 3))
            lines[row - 1] = f"{lines[row - 1][:column]}  # {' '.join(named)}{lines[row - 1][column:]}"
    return "".join(lines)


def _has_docstring(function: Function) -> bool:
    return ast.get_docstring(function, clean=False) is not None


def _bound_names(tree: ast.AST) -> set[str]:
    """Every word of a file that is not merely loaded by a name; what a star may bring is not known."""
    nodes = [node for node in ast.walk(tree) if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))]
    starred = any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in nodes)
    return _names_in(nodes) | BUILTINS if starred else _names_in(nodes)


def _draw_swaps(
    text: str, tree: ast.Module, draw: random.Random, spare: Sequence[Function], thorough: Collection[str]
) -> list[_Swap]:
    lines = split_lines(text)
    taken = words_of(tree)
    swaps: list[_Swap] = []
    for function in _plain_functions(tree):
        swaps += _in_function(function, lines, draw, taken, 1 if function.name in thorough else SHARE)
    swaps += _between(tree, lines, draw, taken, [uncalled(node, f"_{fresh(draw, taken)}") for node in spare])
    return swaps


def _in_function(
    function: Function, lines: Sequence[str], draw: random.Random, taken: set[str], share: float
) -> Iterator[_Swap]:
    """Rewrites of statements that do not overlap: what is inside a swapped branch stays as it is."""
    waiting: list[ast.stmt] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        swap = _statement(node, lines, draw, taken) if draw.random() < share else None
        if swap:
            yield swap
        if not isinstance(node, _INNER) and (swap is None or swap.last < _last(node)):
            waiting += reversed(list(_inner_statements(node)))


def _statement(node: ast.stmt, lines: Sequence[str], draw: random.Random, taken: set[str]) -> _Swap | None:
    if isinstance(node, ast.If):
        return _turned(node, lines)
    if not _alone(node, lines):
        return None
    value = getattr(node, "value", None)
    if not isinstance(value, ast.expr) or isinstance(value, ast.Constant | ast.Yield | ast.YieldFrom | ast.Await):
        return None
    indent = _indent(lines[node.lineno - 1])
    name = fresh(draw, taken)
    first = f"{indent}{name} = ({_segment(value, lines)})"
    rest = {ast.Return: [f"return {name}"], ast.Expr: [f"del {name}"]}.get(type(node))
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        rest = [f"{node.targets[0].id} = {name}", f"del {name}"]
    if rest is None or any(isinstance(part, ast.NamedExpr) for part in ast.walk(value)):
        return None
    return _Swap(node.lineno, _last(node), "\n".join([first, *(indent + line for line in rest)]) + "\n")


def _turned(node: ast.If, lines: Sequence[str]) -> _Swap | None:
    """The branches of an `if` with an `else` of its own lines, the other way round; one without has its head turned."""
    if not _alone(node, lines, end=False):
        return None
    if not node.orelse:
        return _with_else(node, lines)
    body, other = _block(node.body, lines), _block(node.orelse, lines)
    if body is None or other is None or body.start <= _last(node.test) or other.start <= body.stop:
        return None
    between = [line.strip() for line in lines[body.stop - 1 : other.start - 1] if line.strip()]
    words = [line for line in between if not line.startswith("#")]
    if len(words) != 1 or words[0].partition("#")[0].strip() != "else:":
        return None
    indent = _indent(lines[node.lineno - 1])
    head = f"{indent}if not ({_segment(node.test, lines)}):\n"
    inside = ["".join(lines[block.start - 1 : block.stop - 1]) for block in (other, body)]
    inside = [text if text.endswith("\n") else text + "\n" for text in inside]
    return _Swap(node.lineno, other.stop - 1, f"{head}{inside[0]}{indent}else:\n{inside[1]}")


def _with_else(node: ast.If, lines: Sequence[str]) -> _Swap | None:
    """`if c:` as `if not (c): pass, else:`; what is below it stays as it is, and may be rewritten itself."""
    first, last = lines[_first(node.body[0]) - 1], _last(node.test)
    rest = lines[last - 1].encode()[node.test.end_col_offset :].decode().partition("#")[0]
    if _first(node.body[0]) <= last or rest.replace(" ", "").strip().lstrip(")") != ":":
        return None
    indent = _indent(lines[node.lineno - 1])
    head = f"{indent}if not ({_segment(node.test, lines)}):\n{_indent(first)}pass\n{indent}else:\n"
    return _Swap(node.lineno, last, head)


def _block(body: Sequence[ast.stmt], lines: Sequence[str]) -> range | None:
    """The lines of a block, if they are its own and nothing but."""
    if not _alone(body[0], lines, end=False) or not _alone(body[-1], lines, start=False):
        return None
    return range(_first(body[0]), _last(body[-1]) + 1)


def _between(
    tree: ast.Module, lines: Sequence[str], draw: random.Random, taken: set[str], spare: Sequence[str]
) -> Iterator[_Swap]:
    """What comes between definitions of the module and at its end: remarks, empty lines, private functions, imports."""
    places = [
        _first(node)
        for before, node in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(before, _INNER) and isinstance(node, _INNER) and _last(before) < _first(node)
    ]
    texts = dict.fromkeys((*places, len(lines) + 1), "")
    for place in texts:
        if draw.random() < SHARE:
            texts[place] += draw.choice(ADDED)(draw, taken)
    for text in spare:
        texts[draw.choice(list(texts))] += text
    for place, text in texts.items():
        if text and place <= len(lines):
            yield _Swap(place, place - 1, text)
        elif text:
            start = "\n\n" if not lines or lines[-1].endswith("\n") else "\n\n\n"
            yield _Swap(place, place - 1, start + text.rstrip("\n") + "\n")


def uncalled(node: Function, name: str) -> str:
    """A function under another name, without what runs when it is defined."""
    arguments = ast.arguments(
        posonlyargs=[ast.arg(arg=each.arg) for each in node.args.posonlyargs],
        args=[ast.arg(arg=each.arg) for each in node.args.args],
        vararg=node.args.vararg and ast.arg(arg=node.args.vararg.arg),
        kwonlyargs=[ast.arg(arg=each.arg) for each in node.args.kwonlyargs],
        kw_defaults=[each and ast.Constant(value=None) for each in node.args.kw_defaults],
        kwarg=node.args.kwarg and ast.arg(arg=node.args.kwarg.arg),
        defaults=[ast.Constant(value=None) for _ in node.args.defaults],
    )
    made = type(node)(name=name, args=arguments, body=node.body, decorator_list=[], lineno=1, col_offset=0)
    return ast.unparse(made) + "\n\n\n"


def _swapped(text: str, swaps: Sequence[_Swap]) -> str:
    lines = split_lines(text)
    for swap in sorted(swaps, key=lambda swap: swap.first, reverse=True):
        lines[swap.first - 1 : swap.last] = [swap.text]
    return "".join(lines)


def outer_functions(tree: ast.Module) -> Iterator[Function]:
    """Functions of the module and of its classes; not those inside another function."""
    waiting: list[ast.stmt] = list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ClassDef):
            waiting += reversed(node.body)
        elif isinstance(node, Function):
            yield node


def _plain_functions(tree: ast.Module) -> Iterator[Function]:
    """Those that nothing looks into."""
    return (node for node in outer_functions(tree) if not _looked_into(node))


def _looked_into(function: Function) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in _LOOK_INSIDE)
        or (isinstance(node, ast.Attribute) and node.attr in _LOOK_INSIDE)
        for node in ast.walk(function)
    )


def _inner_statements(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from _inner_statements(child)


def words_of(tree: ast.AST) -> set[str]:
    """Every word of a file that could be a name in it."""
    return _names_in(ast.walk(tree))


def _names_in(nodes: Iterable[ast.AST]) -> set[str]:
    values = [value for node in nodes for value in vars(node).values() if isinstance(value, str | list)]
    words = (word for value in values for word in ([value] if isinstance(value, str) else value))
    return {word for word in words if isinstance(word, str)}


def _tables(top: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield top
    for child in top.get_children():
        yield from _tables(child)


def _alone(node: ast.stmt, lines: Sequence[str], *, start: bool = True, end: bool = True) -> bool:
    """Whether nothing else begins on its first line, and nothing but a comment follows on its last."""
    head = lines[_first(node) - 1].encode()[: node.col_offset] if _first(node) == node.lineno else b""
    tail = lines[_last(node) - 1].encode()[node.end_col_offset :].strip()
    if isinstance(node, ast.If) and lines[node.lineno - 1].encode()[node.col_offset :].startswith(b"elif"):
        return False
    return (not start or not head.strip()) and (not end or not tail or tail.startswith(b"#"))


def _first(node: ast.stmt) -> int:
    first: int = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    return first


def _last(node: ast.stmt | ast.expr) -> int:
    return node.end_lineno or node.lineno


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _segment(node: ast.expr, lines: Sequence[str]) -> str:
    """The text of an expression; what spans lines keeps them."""
    own = [line.encode() for line in lines[node.lineno - 1 : _last(node)]]
    own[-1] = own[-1][: node.end_col_offset]
    own[0] = own[0][node.col_offset :]
    return b"".join(own).decode()
