"""Edits of real test files, made by rule: replies in the paper's format, with what a right applier makes of them.

What is right is said as the *units* of a file (its functions and its other statements, as syntax trees), never as text,
so that an applier may format as it likes.
"""

from __future__ import annotations

import ast
import io
import random
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One function, or one statement that is neither a function nor a class."""

    name: str
    """`TestX.test_y`; `TestX` for a statement of that class, empty for one of the module."""
    tree: str

    @property
    def imports(self) -> bool:
        return self.tree.startswith(("Import(", "ImportFrom("))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One reply, the file that it edits, and what has to come out."""

    name: str
    """What kind of edit it is."""
    path: str
    base: str | None
    """Null for a new file."""
    reply: str
    taken: tuple[Unit, ...]
    """Units that go."""
    given: tuple[Unit, ...]
    """Units that come."""
    comments: tuple[str, ...]
    """Those that have to be there afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One definition of a real file."""

    node: Definition
    name: str
    lines: tuple[str, ...]
    """Decorators included."""
    start: int
    """1-based."""
    owner: str


def units(tree: ast.Module | ast.ClassDef, prefix: str = "") -> list[Unit]:
    """Units in order."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            inner = f"{prefix}{node.name}"
            head = ast.dump(ast.ClassDef(node.name, node.bases, node.keywords, [], node.decorator_list))
            found += [Unit(name=inner, tree=head), *units(node, inner + ".")]
        elif isinstance(node, Function):
            found.append(Unit(name=prefix + node.name, tree=ast.dump(node)))
        else:
            found.append(Unit(name=prefix.removesuffix("."), tree=ast.dump(node)))
    return found


def correct(case: Case, after: str) -> bool:
    """Whether all units are there that should be, once each, and those of the base in their old order."""
    try:
        result = units(ast.parse(after))
    except SyntaxError:
        return False
    base = units(ast.parse(case.base or ""))
    rest = Counter(base) - Counter(case.taken)
    wanted = rest + Counter(case.given)
    plain = Counter({unit: count for unit, count in wanted.items() if not unit.imports})
    got = Counter(unit for unit in result if not unit.imports)
    imports = {unit for unit in wanted if unit.imports} == {unit for unit in result if unit.imports}
    return got == plain and imports and _ordered(base, result, rest) and _future_first(result)


def _ordered(base: Sequence[Unit], result: Sequence[Unit], rest: Counter[Unit]) -> bool:
    """Whether the units that stay, each the only one of its kind, keep their order."""
    once = {unit for unit, count in rest.items() if count == 1 and not unit.imports}
    return [unit for unit in base if unit in once] == [unit for unit in result if unit in once]


def _future_first(result: Sequence[Unit]) -> bool:
    """`from __future__` after other code is an error of the compiler, which a parser does not see."""
    places = [at for at, unit in enumerate(result) if unit.tree.startswith("ImportFrom(module='__future__'")]
    return all(
        result[at].tree.startswith("ImportFrom(module='__future__'") or at == 0
        for at in range(1, max(places, default=0))
    )


def comments(text: str) -> list[tuple[int, str]]:
    """Line and text of every comment."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]


def kept(case: Case, after: str) -> int:
    """How many of the case's comments are in the result."""
    try:
        there = Counter(text for _, text in comments(after))
    except (tokenize.TokenError, SyntaxError):
        return 0
    return sum((Counter(case.comments) & there).values())


def targets(text: str) -> list[Target]:
    """The functions and classes of a file, one level of classes deep."""
    lines = text.split("\n")
    return list(_targets(ast.parse(text), lines, ""))


def _targets(tree: ast.Module | ast.ClassDef, lines: list[str], owner: str) -> Iterator[Target]:
    for node in tree.body:
        if not isinstance(node, Definition):
            continue
        start = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        own = f"{owner}.{node.name}" if owner else node.name
        yield Target(node=node, name=own, lines=tuple(lines[start - 1 : node.end_lineno]), start=start, owner=owner)
        if isinstance(node, ast.ClassDef) and not owner:
            yield from _targets(node, lines, node.name)


Make = Callable[["Draft"], Case | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a kind of edit is made from."""

    path: str
    text: str
    targets: tuple[Target, ...]
    chance: random.Random

    def pick(self, wanted: Callable[[Target], bool]) -> Target | None:
        """A definition whose name is its own in the file, and that does not share a line with another statement."""
        names = Counter(target.node.name for target in self.targets)
        fitting = [one for one in self.targets if names[one.node.name] == 1 and _plain(one) and wanted(one)]
        return self.chance.choice(fitting) if fitting else None

    def near(self, line: int) -> int:
        """A line number as a model gives it: about right."""
        return max(1, line + self.chance.randint(-6, 6))


def _plain(target: Target) -> bool:
    return target.node.body[0].lineno > target.node.lineno and "\t" not in "".join(target.lines)


def block(path: str, action: str, hint: object, code: str) -> str:
    return f"diff\n{path}\n{action}\n{hint}\n{code}\nend diff\n"


def changed(target: Target) -> list[str]:
    """The definition with one more comment and statement at its end: what a rewrite gives."""
    first = target.node.body[0]
    line = target.lines[first.lineno - target.start]
    indent = line[: len(line) - len(line.lstrip())]
    more = "pass" if isinstance(target.node, ast.ClassDef) else "assert str(1) == '1'"
    return [*target.lines, f"{indent}# checks once more", f"{indent}{more}"]


def case_of(draft: Draft, name: str, reply: str, *, taken: Sequence[Target] = (), given: Sequence[Unit] = ()) -> Case:
    """The case, with the comments outside of what goes and those that come."""
    lines = draft.text.split("\n")
    gone: set[int] = set()
    for target in taken:
        end = target.start + len(target.lines) - 1
        above = target.start - 1
        while above and lines[above - 1].lstrip().startswith("#"):
            above -= 1
        gone |= set(range(above + 1, _last_comment(lines, end, target) + 1))
    stay = [text for line, text in comments(draft.text) if line not in gone]
    code = [line.split("#", 1)[1] for line in reply.split("\n") if line.strip() == "# checks once more"]
    trees = [unit for target in taken for unit in _units_of(target)]
    return Case(
        name=name,
        path=draft.path,
        base=draft.text,
        reply=reply,
        taken=tuple(trees),
        given=tuple(given),
        comments=(*stay, *("#" + one for one in code)),
    )


def _last_comment(lines: Sequence[str], end: int, target: Target) -> int:
    """Comments below a definition that are indented deeper than it are its own."""
    depth = target.node.col_offset
    for at in range(end, len(lines)):
        text = lines[at]
        if text.strip() and not (text.lstrip().startswith("#") and len(text) - len(text.lstrip()) > depth):
            return at
    return len(lines)


def _units_of(target: Target) -> list[Unit]:
    prefix = f"{target.owner}." if target.owner else ""
    holder = ast.Module(body=[target.node], type_ignores=[])
    return units(holder, prefix)


def parsed(code: Sequence[str], prefix: str = "") -> list[Unit]:
    """Units of a snippet of any indentation."""
    indented = next(line for line in code if line.strip()).startswith(" ")
    tree = ast.parse("\n".join(["if 1:", *code] if indented else code))
    body = tree.body[0].body if indented and isinstance(tree.body[0], ast.If) else tree.body
    return units(ast.Module(body=body, type_ignores=[]), prefix)
