"""The corpus for real: no grader accepts what ours rejects for nothing, and every honest candidate stays accepted."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.corpus import CORPUS, KINDS
from benchmarks.secret_table import HONEST, Entry, play
from benchmarks.trick_table import END, PAGE, START, corpus_of, judge_corpus, table
from flows.demo import build_demo_mirror
from flows.interface.settings import Settings
from tasks.adapters.sandbox.select import available
from tasks.domain.outcome import SandboxKind
from tasks.domain.run import Limits

TEMPTING = ("cheating/reads_source_text", "cheating/tosses_a_coin", "cheating/writes_the_report")
PLAIN = ("honest/plain_function", "honest/unittest_case")
BY_CHANCE = ("tosses_a_coin", "reads_the_clock", "asks_the_network", "depends_on_hashing")
"""What the graders without guards make of these is not the same every time, or on every machine."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = Settings(
        store=str(tmp_path / "store"),
        cache=tmp_path / "cache",
        database=tmp_path / "swt.duckdb",
        sandbox=next(probe.kind for probe in available() if probe.usable),
        workers=2,
        limits=Limits(wall_s=60.0, memory_mb=1024, processes=128, disk_mb=64, log_mb=1),
    )
    build_demo_mirror(made)
    return made


def readme_rows() -> dict[str, list[str]]:
    """Name → cells of its row in the table."""
    text = PAGE.read_text().split(START)[1].split(END)[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return {row[0].strip().strip("`"): [cell.strip() for cell in row[1:]] for row in rows}


def test_the_table_has_a_row_for_every_candidate() -> None:
    names = [path.stem for kind in KINDS for path in sorted((CORPUS / kind).glob("*.txt"))]
    assert sorted(readme_rows()) == sorted(names)


def test_there_are_many_tricks_and_many_styles() -> None:
    counts = {kind: len(list((CORPUS / kind).glob("*.txt"))) for kind in (*KINDS, "unusual")}
    assert counts["cheating"] >= 30
    assert counts["honest"] >= 20
    assert counts["unusual"] >= 40


@pytest.mark.bubblewrap
@pytest.mark.slow
def test_a_part_of_the_honest_styles_is_robust(settings: Settings, tmp_path: Path) -> None:
    """Every twelfth style; `benchmarks.secret_table` plays all of them.

    Decoys are drawn, so a style that covers less than its issue may accept one.
    """
    entries = [
        Entry(method=one.method, kind=one.kind, what=one.what, instance=one.instance, patch=one.patch)
        for one in corpus_of(settings, HONEST)[::12]
    ]
    played = play(replace(settings, trusted=True), tmp_path, entries, len({one.instance for one in entries}))
    assert {one.method for one in played if one.method != "golden"} == {one.method for one in entries}
    assert {one.method: one.failed for one in played if one.failed not in ((), ("decoy",))} == {}


def test_the_table_says_that_ours_accepts_every_honest_candidate() -> None:
    text = PAGE.read_text().split(START)[1].split(END)[0]
    honest = re.search(r"accepted of (\d+)\*\* \| \|.* (\d+) \| \|\n\Z", text.strip() + "\n")
    assert honest is not None
    assert honest[1] == honest[2]


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_a_handful_for_real(settings: Settings, tmp_path: Path) -> None:
    if settings.sandbox is SandboxKind.PROCESS:
        pytest.skip("the naive grader shows candidates their own folders by bubblewrap, which is not to be had here")
    entries = [entry for entry in corpus_of(settings) if entry.method in (*TEMPTING, *PLAIN)]
    verdicts = judge_corpus(settings, tmp_path / "work", entries)
    ours = {verdict.entry.method: verdict.accepted["ours"] for verdict in verdicts}
    assert {name: ours[name] for name in PLAIN} == dict.fromkeys(PLAIN, True)
    assert not ours["cheating/reads_source_text"]
    assert not ours["cheating/writes_the_report"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.bubblewrap
def test_a_part_of_the_table_is_current(settings: Settings, tmp_path: Path) -> None:
    """Every ninth candidate by every grader, again; the script makes all of it.

    Decoys are drawn, so whether a trick is robust can differ; an honest candidate has to be robust each time.
    """
    if settings.sandbox is SandboxKind.PROCESS:
        pytest.skip("without isolation other rows come out: the report and the host can be reached")
    entries = corpus_of(settings)[::9]
    found = table(judge_corpus(settings, tmp_path / "work", entries))
    made = {line.split("|")[1].strip(" `"): line for line in found.splitlines() if line.startswith("| `")}
    stated = {line.split("|")[1].strip(" `"): line for line in PAGE.read_text().splitlines() if line.startswith("| `")}
    honest = {entry.name for entry in entries if entry.kind == "honest"}
    settled = [name for name in made if name not in BY_CHANCE]
    drawn = {name: 6 if name not in honest else 7 for name in settled}
    assert {name: made[name].split("|")[3 : drawn[name] + 1] for name in settled} == {
        name: stated[name].split("|")[3 : drawn[name] + 1] for name in settled
    }
