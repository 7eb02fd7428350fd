"""The second corpus: what is in it, and what a run says of a few of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.second_corpus import second_corpus, suite_patch
from benchmarks.secret_table import END, README, REAL_END, REAL_START, START, beyond, demo, lines_of, opened, play
from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch
from tasks.adapters.sandbox.pick import available
from tasks.domain.outcome import SandboxKind

KINDS = {"memory", "memory-kept", "memory-cache", "form", "text", "look", "runner", "behaviour"}


def test_there_are_enough_of_each_kind() -> None:
    tricks = second_corpus()
    assert len(tricks) >= 60
    assert {trick.kind for trick in tricks} == KINDS
    for trick in tricks:
        compile(trick.files[trick.test], trick.test, "exec")
        assert "def test_it(" in trick.files[trick.test]


def test_all_of_them_are_one_patch() -> None:
    read = read_patch(suite_patch(second_corpus(), "KNOWN = {}\n"))
    assert isinstance(read, Patch)
    assert len(read.files) > len(second_corpus())


def test_the_table_has_a_row_for_every_trick() -> None:
    text = README.read_text().split(START)[1].split(END)[0]
    rows = [line.split("|")[1].strip(" *`") for line in text.splitlines() if "`" in line[:6]]
    assert rows == [trick.name for trick in second_corpus()]


def test_twenty_of_them_are_successes_on_two_real_instances() -> None:
    text = README.read_text().split(REAL_START)[1].split(REAL_END)[0]
    rows = {line.split("|")[1].strip(" *`"): line.split("|")[4] for line in text.splitlines() if "`" in line[:6]}
    assert set(rows) <= {trick.name for trick in second_corpus()}
    assert sum(int(successes.split("/")[0]) >= 2 for successes in rows.values()) >= 20


@pytest.mark.bubblewrap
def test_form_does_not_buy_a_verdict(tmp_path: Path) -> None:
    """Each of these was accepted with every secret, by dead code and copies that only one side had."""
    if next(probe.kind for probe in available() if probe.usable) is SandboxKind.PROCESS:
        pytest.skip("the tricks are run as in the table")
    names = ("private_functions_of_base", "live_tree_by_names")
    table = opened(tmp_path)
    tricks = [trick for trick in second_corpus() if trick.name in names]
    play(table, tricks, secrets=1, field=demo((3,)))
    lines = lines_of(table, tricks)
    assert [line.tried for line in lines] == [1, 1]
    assert [line.accepted for line in lines] == [0, 0]
    assert not beyond(lines)
