"""The second corpus: what is in it, and what a run says of a few of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.second_corpus import second_corpus, suite_patch
from benchmarks.secret_table import entries_of, play
from flows.interface.settings import Settings
from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch
from tasks.adapters.sandbox.select import available
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


@pytest.mark.bubblewrap
@pytest.mark.slow
def test_tricks_that_know_the_base_commit_are_not_robust(tmp_path: Path) -> None:
    """Each of these was accepted with every secret by an earlier design, which rewrote the code."""
    if next(probe.kind for probe in available() if probe.usable) is SandboxKind.PROCESS:
        pytest.skip("the tricks are played as in the table")
    names = {"second/private_functions_of_base", "second/live_tree_by_names", "second/differs_from_base"}
    settings = Settings(
        store=str(tmp_path / "store"), cache=tmp_path / "cache", database=tmp_path / "swt.duckdb", workers=2
    )
    entries = [one for one in entries_of(settings) if one.method in names and one.instance.endswith("-3")]
    played = [one for one in play(settings, tmp_path, entries, secrets=1) if one.method != "golden"]
    assert {one.method for one in played} == names
    assert not any(one.robust for one in played)
