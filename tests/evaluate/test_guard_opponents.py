"""What passes somebody who keeps all that his runs can see, knows the base commit, and not what the edits say."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

import pytest
from domain_rows import task_instance

from tasks.adapters.patch.apply import Applied, apply_to_files
from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch
from tasks.adapters.patch.render import Change, render
from tasks.adapters.uv.host import host_environment
from tasks.domain.candidate import Suite
from tasks.domain.names import RepoPath, SuiteId
from tasks.domain.outcome import CodeState, SandboxKind, SuiteKind
from tasks.domain.run import Limits, RunSpec, files_key
from tasks.evaluate.guard_edits import guard_edits
from tasks.evaluate.plan import Bench, confirmation_specs, guard_specs, in_secret_order

SECRETS = 2_000
BEFORE = "def half(number):\n    part = number // 2\n    return part\n"
AFTER = BEFORE.replace("//", "/")


@dataclass(frozen=True)
class Seen:
    """All that a test can see of its run, but for what the texts of edited code say."""

    text: str
    conditions: tuple[object, ...]

    @classmethod
    def of(cls, spec: RunSpec) -> Seen:
        text = BEFORE
        for code_patch in spec.code_patches:
            text = patched(text, code_patch)
        return cls(text, (spec.env, spec.order, spec.limits, spec.network))


@cache
def patched(text: str, code_patch: str) -> str:
    """The module after a patch."""
    read = read_patch(code_patch)
    assert isinstance(read, Patch)
    applied = apply_to_files(read, lambda _: text.encode())
    assert isinstance(applied, Applied)
    (change,) = applied.changes
    assert change.after is not None
    return change.after


Opponent = Callable[[Sequence[Seen], random.Random], bool]
"""Whether it passes in the latest of these runs, the first two of which judged it; it has a coin as well."""


def in_turn(seen: Sequence[Seen], _: random.Random) -> bool:
    return len(seen) % 2 == 0


def halves(seen: Sequence[Seen], _: random.Random) -> bool:
    return len(seen) - 2 > 3


def knows_the_judged_texts(seen: Sequence[Seen], _: random.Random) -> bool:
    judged = {seen[0].text: False, seen[1].text: True}
    others = [one.text for one in seen if one.text not in judged]
    return judged.get(seen[-1].text, len(others) % 2 == 0)


def pairs_of_the_same_conditions(seen: Sequence[Seen], coin: random.Random) -> bool:
    """Each time, one run of each side: the later is taken for the fix's."""
    judged = {seen[0].text: False, seen[1].text: True}
    alike = [one for one in seen[2:] if one.conditions == seen[-1].conditions and one.text not in judged]
    known = judged.get(seen[-1].text)
    return known if known is not None else len(alike) % 2 == 0


def knows_plain_from_edited(seen: Sequence[Seen], coin: random.Random) -> bool:
    """Without any memory: the base commit is known, and so is whether anything looks edited."""
    return {BEFORE: False, AFTER: True}.get(seen[-1].text, coin.random() < 0.5)


def tells_texts_apart(seen: Sequence[Seen], coin: random.Random) -> bool:
    """A coin for each text: one that was there before is on the side that was guessed for it."""
    return random.Random(f"{seen[-1].text}{coin.getstate()}").random() < 0.5  # the state is the same in all runs


@pytest.fixture(scope="module")
def plan() -> tuple[tuple[RunSpec, ...], tuple[RunSpec, ...]]:
    """The runs that judge a suite, and its guard runs in no order."""
    fix = Change(path="m.py", before=BEFORE, after=AFTER)
    instance = task_instance(patch=render([fix]))
    bench = Bench(
        instance=instance,
        environment=host_environment(instance.repo).environment,
        watches={},
        sandbox=SandboxKind.PROCESS,
        limits=Limits(),
        runner_version="r",
    )
    files = (RepoPath("test_m.py"),)
    suite = Suite(
        suite_id=SuiteId("s"),
        instance_key=instance.instance_key,
        instance_id=instance.instance_id,
        kind=SuiteKind.CANDIDATE,
        patch="",
        files=files,
        files_key=files_key(files),
        base_files=(),
        base_files_key=files_key(()),
    )
    edits = guard_edits(instance, lambda path: {"m.py": BEFORE.encode()}.get(path), ("m.py",), "secret")
    return confirmation_specs(bench, suite), guard_specs(bench, suite, edits)


def passed(opponent: Opponent, judging: Sequence[RunSpec], guarding: Sequence[RunSpec], secret: str) -> bool:
    coin = random.Random(f"coin {secret}")
    seen = [Seen.of(spec) for spec in judging]
    for spec in in_secret_order(guarding, secret):
        seen.append(Seen.of(spec))
        if opponent(seen, coin) is not (spec.code_state is CodeState.AFTER):
            return False
    return True


@pytest.mark.parametrize(
    "opponent",
    [in_turn, halves, knows_the_judged_texts, pairs_of_the_same_conditions, knows_plain_from_edited, tells_texts_apart],
)
def test_no_memory_passes_oftener_than_is_said(
    plan: tuple[tuple[RunSpec, ...], tuple[RunSpec, ...]], opponent: Opponent
) -> None:
    judging, guarding = plan
    before = sum(spec.code_state is CodeState.BEFORE for spec in guarding)
    chance = 1 / comb(len(guarding), before)
    times = sum(passed(opponent, judging, guarding, f"{number:032x}") for number in range(SECRETS))
    assert chance <= 1 / 20
    assert times / SECRETS < chance + 4 * (chance / SECRETS) ** 0.5


def test_every_guard_run_has_code_that_no_run_had(plan: tuple[tuple[RunSpec, ...], tuple[RunSpec, ...]]) -> None:
    judging, guarding = plan
    texts = [Seen.of(spec).text for spec in (*judging, *guarding)]
    assert len(set(texts)) == len(texts)
    assert len({Seen.of(spec).conditions for spec in guarding}) == 1
