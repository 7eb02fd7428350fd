"""The edits of a fix that guard runs are made with (issue-reproducing tests must not notice any of them).

placebo      `before`
paraphrase   `after`

Both in one form, for whatever had one side only would tell it to somebody who knows our edits and nothing of the issue:
every file of the fix is rendered anew from its syntax tree, so that nothing of the layout is left, and the lines that
the fix removes and those that it adds are quoted where they belong, both of them on both sides, with their statements
beside them as code that never runs. Text, size, hash, syntax tree and bytecode change, what it does does not.

Then both are said in other words (rewriting.py), and so are a few other modules of the same packages: what differs from
`before` differs in every edited run, and how is drawn from a secret, anew for each of the few edits of a side.
Functions of both sides stand among the others under private names, so that a look for the fix in code that could run
finds it on both sides. Documents, which no code reads, change sides: a placebo has those of the fix, a paraphrase those
of before. A placebo has the docstrings of the fix as well; a paraphrase keeps them, so both sides have the same ones.

Python files are edited only where today's grammar can parse them and the result, before it is reworded, has the same
syntax tree. Modules that the fix adds or deletes are no part of a placebo: whether they are there is behaviour.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from tasks.adapters.patch.apply import Applied, ReadBase, apply_stored
from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch, split_lines, to_text
from tasks.adapters.patch.render import Change, render
from tasks.adapters.patch.split import Kind, kind_of
from tasks.domain.guard_edit import EDITS, GuardEdit
from tasks.domain.instance import TaskInstance
from tasks.domain.names import RepoPath
from tasks.domain.outcome import RunVariant
from tasks.domain.syntax import alike
from tasks.evaluate import rewriting
from tasks.evaluate.changed_places import Block, FixedFunctions, blocks_of
from tasks.evaluate.dead_code import starred_subscript, touched
from tasks.evaluate.docstrings import with_docstrings
from tasks.evaluate.look_alikes import with_look_alikes
from tasks.evaluate.quoting import Quote, Unedited, parse, place_for, quoted_with_shape, same_meaning, statements
from tasks.evaluate.rewriting import Function

_COOKIE = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+")
_DOCUMENT = re.compile(
    r"(?i:docs?|documentation|changes?|changelog|news|releases?)/(.+/)?[^/]+\.(rst|md|txt)|[A-Z]+\.(rst|md|txt)"
)
"""Of the folders of documents, or at the top: a change log, a readme."""
_NEIGHBOURS = 3
"""Other modules that each edit rewords, at most: each costs a tenth of a second once."""
_OLD_SUBSCRIPT = "a starred subscript is read by Python 3.11 and later only"


@dataclass(frozen=True, slots=True)
class Place:
    """What comes before the statement of one number; nothing where there is no such statement."""

    number: int | None
    lines: tuple[str, ...]
    statements: tuple[ast.stmt, ...]


Edit = Callable[[Change, tuple[Block, ...]], str | Unedited]


def guard_edits(
    instance: TaskInstance, read_base: ReadBase, paths: Collection[str], secret: str
) -> tuple[GuardEdit, ...]:
    """The placebos and the paraphrases of an instance, `EDITS` of each; one with an empty patch where the golden patch
    does not apply, or has nothing to edit.

    `paths` are the files of the base commit, `secret` decides what is drawn. No two are alike: where nothing is left to
    draw there are fewer, since a run of code that was there before is no guess.
    """
    applied = apply_stored(instance.patch, read_base)
    if not isinstance(applied, Applied):
        refused = (f"golden patch: {applied.reason}",)
        return tuple(_row(instance, _Draw(variant, 0, secret), {}, refused) for variant in _EDITS)
    normal = read_patch(applied.patch)
    assert isinstance(normal, Patch)
    blocks = {file.path: tuple(blocks_of(file)) for file in normal.files}
    unworded = {variant: _unworded(variant, applied.changes, blocks) for variant in _EDITS}
    functions = {
        change.path: FixedFunctions.of(change, blocks.get(change.path, ()))
        for change in applied.changes
        if change.path.endswith(".py")
    }
    made: dict[tuple[RunVariant, str], GuardEdit] = {}
    for draw in _draws(secret):
        edit = _edited(instance, applied.changes, functions, unworded[draw.variant], _Around(draw, read_base, paths))
        made.setdefault((edit.variant, edit.patch), edit)
    return tuple(made.values())


@dataclass(frozen=True, slots=True)
class _Draw:
    """One edit of an instance, and what decides how it is worded."""

    variant: RunVariant
    repeat: int
    secret: str
    """Of the instance."""

    def seed(self, *what: str) -> str:
        return ":".join((self.secret, self.variant, str(self.repeat), *what))


def _draws(secret: str) -> Iterator[_Draw]:
    return (_Draw(variant, repeat, secret) for variant in _EDITS for repeat in range(EDITS))


@dataclass(frozen=True, slots=True)
class _Around:
    """What lies around the files of a fix, and how they are reworded."""

    draw: _Draw
    read_base: ReadBase
    paths: Collection[str]

    def neighbours(self, fixed: Collection[str]) -> Iterator[Change]:
        """Other source modules of the packages that the fix edits, reworded."""
        folders = {PurePosixPath(path).parent for path in fixed if path.endswith(".py")}
        found = sorted(
            path
            for path in self.paths
            if path.endswith(".py")
            and path not in fixed
            and PurePosixPath(path).parent in folders
            and kind_of(path) is Kind.SOURCE
        )
        draw = random.Random(self.draw.seed())  # noqa: S311 - the seed is what is secret
        for path in draw.sample(found, min(_NEIGHBOURS, len(found))):
            text = to_text(self.read_base(path) or b"")
            yield Change(path=path, before=text, after=self.reworded(path, text))

    def widened(self, change: Change, text: str) -> str:
        """The edited text of a file of the fix with look-alikes of what only the other side has."""
        sides = change.before or "", change.after or ""
        here, there = sides if self.draw.variant is RunVariant.PLACEBO else sides[::-1]
        draw = random.Random(self.draw.seed("look-alikes", change.path))  # noqa: S311 - the seed is what is secret
        return with_look_alikes(text, here, there, draw)

    def reworded(
        self,
        path: str,
        text: str,
        own: Iterable[Function] = (),
        spare: Iterable[Function] = (),
        words: Sequence[str] = (),
    ) -> str:
        """`text` in other words, or as it is: `own` functions thoroughly, and the `spare` ones among them."""
        secret, thorough = self.draw.seed(path), {node.name for node in own}
        spare = list(spare)
        found = (rewriting.rewritten(text, secret, each, thorough, words) for each in (spare, []))
        return next((made for made in found if made is not None), text)


def placebo(change: Change, blocks: tuple[Block, ...]) -> str | Unedited:
    """The file before the fix with the lines of both sides quoted, and the docstrings of the fix."""
    if change.before is None or change.after is None:
        return Unedited("the fix adds or deletes it")
    tree = parse(change.before)
    if isinstance(tree, Unedited):
        return tree
    rendered = _rendered_anew(change.before, tree)
    # Where it cannot be rendered the layout stays; its paraphrase, which would be told by that, is left out or alike.
    start = change.before if isinstance(rendered, Unedited) else rendered
    text = _with_both_sides(change, change.before, start, blocks, [block.line for block in blocks])
    if text == change.before:
        return Unedited("it has no statement to put anything before")
    if not same_meaning(text, tree):
        return Unedited("the edit would change what it means")
    fixed, base = parse(change.after), parse(change.before)
    assert isinstance(base, ast.Module)
    return with_docstrings(text, base, fixed) if isinstance(fixed, ast.Module) else text


def paraphrase(change: Change, blocks: tuple[Block, ...]) -> str | Unedited:
    """The file after the fix with the lines of both sides quoted."""
    if change.after is None:
        return Unedited("the fix deletes it")
    tree = parse(change.after)
    if isinstance(tree, Unedited):
        return tree
    rendered = _rendered_anew(change.after, tree)
    if isinstance(rendered, Unedited):
        return rendered
    text = _with_both_sides(change, change.after, rendered, blocks, [block.new_line for block in blocks])
    return text if same_meaning(text, tree) else rendered


_EDITS: dict[RunVariant, Edit] = {RunVariant.PLACEBO: placebo, RunVariant.PARAPHRASE: paraphrase}


def _unworded(
    variant: RunVariant, changes: Iterable[Change], blocks: dict[str, tuple[Block, ...]]
) -> dict[str, str | Unedited]:
    """{Python file of the fix: what the edits of a side have in common}, before it is said in other words."""
    return {
        change.path: _EDITS[variant](change, blocks.get(change.path, ()))
        for change in changes
        if change.path.endswith(".py")
    }


def _edited(
    instance: TaskInstance,
    changes: tuple[Change, ...],
    functions: dict[str, FixedFunctions],
    unworded: dict[str, str | Unedited],
    around: _Around,
) -> GuardEdit:
    """One edit of all files of the fix."""
    variant = around.draw.variant
    texts: dict[str, Change] = {}
    documents: dict[str, Change] = {}
    skipped = []
    for change in changes:
        if _DOCUMENT.fullmatch(change.path):
            documents[change.path] = change if variant is RunVariant.PLACEBO else _the_other_way(change)
            continue
        if not change.path.endswith(".py"):
            skipped.append(f"{change.path}: it is not Python")
            continue
        text = unworded[change.path]
        start = change.before if variant is RunVariant.PLACEBO else change.after
        if isinstance(text, Unedited):
            skipped.append(f"{change.path}: {text.reason}")
        elif text == start:
            skipped.append(f"{change.path}: the edit leaves it as it is")
        else:
            fixed = functions[change.path]
            own = fixed.old if variant is RunVariant.PLACEBO else fixed.new
            after = around.reworded(change.path, around.widened(change, text), own, fixed.spare, fixed.words)
            texts[change.path] = Change(path=change.path, before=start, after=after)
    if texts:
        near = around.neighbours([change.path for change in changes])
        texts |= documents | {change.path: change for change in near if change.before != change.after}
    return _row(instance, around.draw, texts, tuple(skipped))


def _the_other_way(change: Change) -> Change:
    return Change(path=change.path, before=change.after, after=change.before)


def _row(instance: TaskInstance, draw: _Draw, texts: dict[str, Change], skipped: tuple[str, ...]) -> GuardEdit:
    return GuardEdit(
        instance_key=instance.instance_key,
        instance_id=instance.instance_id,
        variant=draw.variant,
        patch=render(texts.values()),
        edited=tuple(RepoPath(path) for path in sorted(texts)),
        skipped=skipped,
        secret=draw.secret,
        repeat=draw.repeat,
    )


def _quotes(places: Iterable[Place]) -> list[Quote]:
    """One quote for each place."""
    quotes: dict[int, Quote] = {}
    for place in places:
        if place.number is not None:
            so_far = quotes.get(place.number, Quote(place.number, ()))
            quotes[place.number] = Quote(place.number, so_far.lines + place.lines, so_far.statements + place.statements)
    return list(quotes.values())


def _shape(text: str, ranges: Sequence[tuple[int, int]]) -> list[tuple[ast.stmt, ...]]:
    """For each range (first line, how many) the statements of `text` that it touches, each where it comes first."""
    tree = parse(text)
    if isinstance(tree, Unedited):
        return [()] * len(ranges)
    seen: set[ast.stmt] = set()
    shape = []
    for first, number in ranges:
        nodes = tuple(node for node in touched(text, tree, range(first, first + number)) if node not in seen)
        seen.update(nodes)
        shape.append(nodes)
    return shape


def _with_both_sides(
    change: Change, original: str, rendered: str, blocks: tuple[Block, ...], lines: Sequence[int]
) -> str:
    """`rendered`, which is `original` in another layout, with what the fix removes and what it adds at these lines.

    What is removed comes first on both sides. Statements have the same numbers in both texts.
    """
    old = _shape(change.before or "", [(block.line, len(block.removed)) for block in blocks])
    new = _shape(change.after or "", [(block.new_line, len(block.added)) for block in blocks])
    trees = parse(original), parse(rendered)
    assert isinstance(trees[0], ast.Module)
    assert isinstance(trees[1], ast.Module)
    found = statements(rendered, trees[1])
    both = [was for was, now in zip(statements(original, trees[0]), found, strict=True) if was.open and now.open]
    places = [
        Place(place_for(line, both), block.removed + block.added, removed + added)
        for line, block, removed, added in zip(lines, blocks, old, new, strict=True)
    ]
    return quoted_with_shape(rendered, _quotes(places), found)


def _rendered_anew(text: str, tree: ast.Module) -> str | Unedited:
    """The file from its syntax tree, if that gives the same tree."""
    if any(map(starred_subscript, ast.walk(tree))):
        return Unedited(_OLD_SUBSCRIPT)
    rendered = _cookie(text) + _rendered(tree)
    again = parse(rendered)
    if isinstance(again, Unedited) or not alike(again, tree):
        return Unedited("rendering it does not give the same syntax tree")
    return rendered


def _rendered(tree: ast.Module) -> str:
    try:
        return ast.unparse(tree) + "\n"
    except (ValueError, RecursionError):
        return ""


def _cookie(text: str) -> str:
    """The encoding declaration of a file, if it has one."""
    return "".join(line.rstrip("\r\n") + "\n" for line in split_lines(text)[:2] if _COOKIE.match(line))
