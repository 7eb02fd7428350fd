"""Decoys of an instance: the base commit plus a change that does not fix the issue.

A test that passes wherever something changed passes on a decoy; an honest test still fails there. A decoy is proposed
here and validated by the golden tests: each case of `FAIL_TO_PASS` has to fail on it (`sql/views/decoy_status.sql`).
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
"""Decoys of one instance. Golden tests try them in their order until enough are valid."""
_FILES = 3
"""Changed files that are mutated, at most."""


@dataclass(frozen=True, slots=True)
class ProposedDecoy:
    """A decoy before it has a number."""

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
    """At most `MOST` proposed decoys, in the order in which golden tests try them.

    `python` is the minor version of the project's interpreter, `secret` decides what is drawn. `others` are instances
    of the same repository, `wrong` are fixes that the golden tests reject. Empty where the golden patch does not apply.
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
    """The changes of a fix, each time without another one. Empty where there is only one.

    A change is a block of lines that the fix adds, removes or replaces, or a whole file that it adds or deletes. What
    is left may be right all the same, if only a comment is missing: golden tests decide.
    """
    found = [
        (less, *changes[:at], *changes[at + 1 :]) for at, change in enumerate(changes) for less in _one_less(change)
    ]
    return found if len(found) > 1 else []


def _one_less(change: Change) -> Iterator[Change]:
    """The change of one file, each time without another block."""
    if change.before is None or change.after is None:
        yield replace(change, after=change.before)
        return
    after = split_lines(change.after)
    for block in blocks_of(change):
        start = block.new_line - 1
        less = (*after[:start], *block.removed, *after[start + len(block.added) :])
        yield replace(change, after="".join(less))


def _rows(instance: TaskInstance, proposals: Iterable[ProposedDecoy], golden: str, secret: str) -> Iterator[Decoy]:
    """One row for each of the first `MOST` different patches that change something and are not the golden patch."""
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
    """Mutants of changed functions, and of other functions in the same files."""
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
    """The golden patch, each time with another mutation of a line that it adds."""
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
    """Source files that are mutated, with their places among the changes: as they were, or as the fix leaves them."""
    source = [(at, one) for at, one in enumerate(changes) if one.path.endswith(".py") and not is_test_path(one.path)]
    return [(at, one) for at, one in source if (one.after if added else one.before)][:_FILES]


def _lines(first: int, count: int) -> range:
    """The removed lines; where lines are only added, the one above and the one below."""
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
