"""Proposes decoys of an instance: the base commit plus a change that does not fix the issue.

A test that detects any change passes on a decoy; an honest test still fails there. The golden tests validate each
proposed decoy: each case of `FAIL_TO_PASS` must fail on it (`sql/views/decoy_status.sql`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, islice, zip_longest

from tasks.adapters.patch.apply import Applied, ReadBase, apply_stored
from tasks.adapters.patch.read import split_lines
from tasks.adapters.patch.render import Change, render
from tasks.adapters.patch.split import is_test_path
from tasks.domain.decoy import Decoy, DecoyKind
from tasks.domain.instance import TaskInstance
from tasks.domain.proposed_fix import ProposedFix
from tasks.integrity.edits import blocks_of
from tasks.integrity.mutants import Mutant, mutants, mutants_of_lines
from tasks.integrity.no_behaviour import only_harmless, without_behaviour

MOST = 10
"""Maximum number of decoys of one instance. Golden tests try them in order until enough are valid."""
_FILES = 3
"""Maximum number of changed files that are mutated."""


@dataclass(frozen=True, slots=True)
class ProposedDecoy:
    """A decoy without a number."""

    kind: DecoyKind
    patch: str
    detail: str
    near: bool = True
    """Whether it changes functions that the golden patch changes."""


def decoys_of(
    instance: TaskInstance,
    read_base: ReadBase,
    *,
    python: str,
    secret: str,
    others: Sequence[TaskInstance] = (),
    wrong: Sequence[ProposedFix] = (),
) -> tuple[Decoy, ...]:
    """Returns at most `MOST` proposed decoys, in the order in which golden tests try them.

    `python` is the minor version of the project's interpreter; `secret` is the random seed. `others` are instances of
    the same repository; `wrong` are fixes that the golden tests reject. Returns none if the golden patch does not
    apply.
    """
    applied = apply_stored(instance.patch, read_base)
    if not isinstance(applied, Applied):
        return ()
    draw = random.Random(f"{secret}:decoys")  # noqa: S311 - the seed is what is secret
    broken = _broken_fixes(applied.changes, python, draw)
    near, far = _mutants(applied.changes, python, draw)
    kinds = (
        broken[0::2],
        near[0::2],
        _other_fixes(instance, read_base, others),
        _partial(applied.changes),
        broken[1::2],
        _no_behaviour(applied.changes, draw),
        (ProposedDecoy(DecoyKind.WRONG_REPAIR, fix.patch, f"repair {fix.fix_id}") for fix in wrong),
        near[1::2],
        far,
    )
    in_turn = (one for one in chain.from_iterable(zip_longest(*kinds)) if one is not None)
    return tuple(_rows(instance, in_turn, applied.patch, secret))


def left_out(changes: Sequence[Change]) -> list[tuple[Change, ...]]:
    """Returns variants of a fix that each lack one change. Returns none if the fix has only one change.

    A change is a block of lines that the fix adds, removes or replaces, or a whole file that it adds or deletes. A
    variant may still be right, for example if it lacks only a comment: the golden tests decide.
    """
    found = [
        (less, *changes[:at], *changes[at + 1 :]) for at, change in enumerate(changes) for less in _one_less(change)
    ]
    return found if len(found) > 1 else []


def _one_less(change: Change) -> Iterator[Change]:
    """Yields variants of the change of one file that each lack one block."""
    if change.before is None or change.after is None:
        yield replace(change, after=change.before)
        return
    after = split_lines(change.after)
    for block in blocks_of(change):
        start = block.new_line - 1
        less = (*after[:start], *block.removed, *after[start + len(block.added) :])
        yield replace(change, after="".join(less))


def _rows(instance: TaskInstance, proposals: Iterable[ProposedDecoy], golden: str, secret: str) -> Iterator[Decoy]:
    """Yields a row for each of the first `MOST` distinct patches that are neither empty nor the golden patch."""
    now = datetime.now(UTC)
    for number, one in enumerate(islice(_different(proposals, golden), MOST)):
        yield Decoy(
            fix_id=ProposedFix.id_of(instance.instance_key, one.patch),
            instance_key=instance.instance_key,
            instance_id=instance.instance_id,
            number=number,
            kind=one.kind,
            near=one.near,
            patch=one.patch,
            detail=one.detail,
            seed=secret,
            created_at=now,
        )


def _different(proposals: Iterable[ProposedDecoy], golden: str) -> Iterator[ProposedDecoy]:
    seen = {"", golden}
    for proposal in proposals:
        if proposal.patch not in seen:
            seen.add(proposal.patch)
            yield proposal


def _no_behaviour(changes: Sequence[Change], draw: random.Random) -> Iterator[ProposedDecoy]:
    most = render(without_behaviour(changes, draw))
    yield ProposedDecoy(
        DecoyKind.NO_BEHAVIOUR, most, "documents, data, docstrings, comments and names of the golden patch"
    )
    least = render(only_harmless(changes, draw))
    yield ProposedDecoy(DecoyKind.NO_BEHAVIOUR, least, "a private function in each changed file")


def _partial(changes: Sequence[Change]) -> Iterator[ProposedDecoy]:
    for number, less in enumerate(left_out(changes), 1):
        yield ProposedDecoy(DecoyKind.PARTIAL, render(less), f"the golden patch without its change {number}")


def _mutants(
    changes: Sequence[Change], python: str, draw: random.Random
) -> tuple[list[ProposedDecoy], list[ProposedDecoy]]:
    """Returns mutants of changed functions, and mutants of other functions in the same files."""
    near: list[ProposedDecoy] = []
    far: list[ProposedDecoy] = []
    for _, change in _mutable(changes):
        lines = {line for block in blocks_of(change) for line in _lines(block.line, len(block.removed))}
        inside, outside = mutants(change.before or "", lines, python, draw)
        near += [_mutant(change, one) for one in inside]
        far += [_mutant(change, one, near=False) for one in outside]
    draw.shuffle(near)
    draw.shuffle(far)
    return near, far


def _broken_fixes(changes: Sequence[Change], python: str, draw: random.Random) -> list[ProposedDecoy]:
    """Returns variants of the golden patch, each with one mutation of a line that it adds."""
    made: list[ProposedDecoy] = []
    for at, change in _mutable(changes, added=True):
        added = {
            line for block in blocks_of(change) for line in range(block.new_line, block.new_line + len(block.added))
        }
        for one in mutants_of_lines(change.after or "", added, python, draw):
            less = (*changes[:at], replace(change, after=one.text), *changes[at + 1 :])
            detail = f"the golden patch with {one.operator} in {change.path}:{one.line}"
            made.append(ProposedDecoy(DecoyKind.BROKEN_FIX, render(less), detail))
    return made


def _mutable(changes: Sequence[Change], *, added: bool = False) -> list[tuple[int, Change]]:
    """Returns the source files to mutate, with their indices among the changes.

    With `added`, these are the files that exist after the fix, otherwise those that exist before it.
    """
    source = [(at, one) for at, one in enumerate(changes) if one.path.endswith(".py") and not is_test_path(one.path)]
    return [(at, one) for at, one in source if (one.after if added else one.before)][:_FILES]


def _lines(first: int, count: int) -> range:
    """Returns the removed lines; if lines are only added, the line above and the line below."""
    return range(first, first + count) if count else range(first - 1, first + 1)


def _mutant(change: Change, made: Mutant, *, near: bool = True) -> ProposedDecoy:
    patch = render([Change(path=change.path, before=change.before, after=made.text)])
    where = "" if near else ", outside of the changed functions"
    return ProposedDecoy(DecoyKind.MUTANT, patch, f"{made.operator} in {change.path}:{made.line}{where}", near)


def _other_fixes(
    instance: TaskInstance, read_base: ReadBase, others: Iterable[TaskInstance]
) -> Iterator[ProposedDecoy]:
    for other in others:
        applied = apply_stored(other.patch, read_base)
        if other.instance_key != instance.instance_key and isinstance(applied, Applied):
            yield ProposedDecoy(
                DecoyKind.OTHER_FIX, applied.patch, f"the golden patch of {other.instance_id}", near=False
            )
