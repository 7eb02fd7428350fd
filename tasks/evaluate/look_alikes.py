"""Public names and parameters that look like what a fix brings, under names that are drawn.

"There is another public name than at the base commit" and "there is another parameter" know nothing of the issue, and
would be true of the fix alone. So a placebo gets as many functions, classes, constants and imports as the fix adds to a
module, and as many parameters as it adds to a function; a paraphrase as many as the fix takes away. Their names are
made of words of the real ones and of the module, so no list of words of ours tells which is which, and nobody can ask
for them. That is where it ends:

- a name that the fix takes away stays in a placebo, for who imports it would fail;
- parameters can only be given by name: with one more by position, what is a `TypeError` before would be none;
- names of classes stay, since they mean something to enumerations, data classes and metaclasses;
- left alone are modules that look at their own names, decorated functions, methods that Python or a framework calls,
  and `__init__` of classes that have a base, for frameworks read it.
"""

from __future__ import annotations

import ast
import keyword
import random
import re
from collections.abc import Iterator, Mapping, Sequence

from tasks.adapters.patch.read import split_lines
from tasks.evaluate.idle_work import import_under
from tasks.evaluate.quoting import parse
from tasks.evaluate.rewriting import Function, uncalled, words_of

_OWN_NAMES = {"__dict__", "__getattr__", "dir", "getmembers", "globals", "locals", "modules", "vars"}
"""Who says one of these may look at all names of its module."""
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_CALLED = ("__", "pytest_", "visit_", "test")


def with_look_alikes(text: str, here: str, there: str, draw: random.Random) -> str:
    """`text`, which is `here` with guard edits, with look-alikes of what `there` has besides.

    `here` is the file before and `there` the one after the fix for a placebo, the other way round for a paraphrase.
    """
    tree, own, other = parse(text), parse(here), parse(there)
    if not (isinstance(tree, ast.Module) and isinstance(own, ast.Module) and isinstance(other, ast.Module)):
        return text
    taken = words_of(tree) | words_of(other) | _public(other).keys()
    made = _with_parameters(text, tree, own, other, draw, taken)
    if not taken & _OWN_NAMES:
        names = _public(own)
        near = [word for name in _public(other) for word in _WORD.findall(name)]
        added = [
            _alike(node, _named_like(name, near, draw, taken), draw)
            for name, node in _public(other).items()
            if name not in names
        ]
        made = "\n\n".join([made.rstrip("\n"), *added]) + "\n" if added else made
    return made if isinstance(parse(made), ast.Module) else text


def _public(tree: ast.Module) -> dict[str, ast.stmt]:
    """Public names that the module's own statements bind."""
    return {name: node for node in tree.body for name in _bound(node) if not name.startswith("_") and name != "*"}


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom) and getattr(node, "module", "") != "__future__":
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _named_like(name: str, near: Sequence[str], draw: random.Random, taken: set[str]) -> str:
    """A name of the same words in another order, with a word of those `near` it where that is there already, spelt like
    it."""
    words = [word.lower() for word in _WORD.findall(name)] or [name]
    draw.shuffle(words)
    while (made := _spelt(words, name)) in taken or not made.isidentifier() or keyword.iskeyword(made):
        words.insert(draw.randrange(len(words) + 1), draw.choice([*near, "of", "all", "by", "for"]).lower())
    taken.add(made)
    return made


def _spelt(words: Sequence[str], name: str) -> str:
    """As `CamelCase`, `UPPER_CASE` or `lower_case`, whichever `name` has."""
    if name[:1].isupper() and not name.isupper():
        return "".join(map(str.capitalize, words))
    return "_".join(words).upper() if name.isupper() else "_".join(words)


def _alike(node: ast.stmt, name: str, draw: random.Random) -> str:
    """A statement of the same kind that binds another name."""
    if isinstance(node, Function):
        return uncalled(node, name)
    if isinstance(node, ast.ClassDef):
        return f"class {name}:\n    pass\n"
    if isinstance(node, ast.Import | ast.ImportFrom):
        return import_under(name, draw)
    return f"{name} = None\n"


def _with_parameters(
    text: str, tree: ast.Module, own: ast.Module, other: ast.Module, draw: random.Random, taken: set[str]
) -> str:
    nodes, mine, theirs = (dict(_functions(one)) for one in (tree, own, other))
    lines = split_lines(text)
    for name, node in sorted(nodes.items(), key=lambda item: -item[1].lineno):
        if name in mine and name in theirs:
            ours, other_ones = _parameters(mine[name]), _parameters(theirs[name])
            near = [word for one in sorted(ours | other_ones) for word in _WORD.findall(one)]
            more = [_named_like(one, near, draw, taken) for one in sorted(other_ones - ours)]
            lines = _widened(lines, node, more)
    made = "".join(lines)
    again = parse(made)
    found: Mapping[str, Function] = dict(_functions(again)) if isinstance(again, ast.Module) else {}
    return made if found.keys() == nodes.keys() else text


def _widened(lines: list[str], node: Function, names: list[str]) -> list[str]:
    """With parameters for a function that can be given by name only."""
    args = node.args
    if not names or args.posonlyargs:
        return lines
    more = ", ".join(f"{name}=None" for name in names)
    star = "" if args.vararg or args.kwonlyargs else "*, "
    if args.kwarg:
        return _inserted(lines, args.kwarg.lineno, args.kwarg.col_offset - 2, f"{star}{more}, ")
    given = (one for one in (args.vararg, *args.kw_defaults) if one)
    parts: list[ast.arg | ast.expr] = [*args.args, *args.defaults, *args.kwonlyargs, *given]
    if parts:
        line, column = max((part.end_lineno or 0, part.end_col_offset or 0) for part in parts)
        return _inserted(lines, line, column, f", {star}{more}")
    column = lines[node.lineno - 1].encode().index(b"(", node.col_offset) + 1
    return _inserted(lines, node.lineno, column, f"{star}{more}")


def _inserted(lines: list[str], line: int, column: int, text: str) -> list[str]:
    data = lines[line - 1].encode()
    return [*lines[: line - 1], (data[:column] + text.encode() + data[column:]).decode(), *lines[line:]]


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Those that nobody reads the parameters of, by qualified name."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    owners: list[ast.Module | ast.ClassDef] = [tree, *classes]
    for owner in owners:
        prefix = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
        for node in owner.body:
            if isinstance(node, Function) and not node.decorator_list and _free(node, owner):
                yield prefix + node.name, node


def _free(node: Function, owner: ast.Module | ast.ClassDef) -> bool:
    if isinstance(owner, ast.ClassDef) and node.name == "__init__":
        return not (owner.bases or owner.keywords or owner.decorator_list)
    return not node.name.startswith(_CALLED)


def _parameters(node: Function) -> set[str]:
    args = node.args
    every = (*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg)))
    return {each.arg for each in every}
