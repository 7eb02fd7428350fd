"""The corpus for real: no grader accepts what ours rejects for nothing, and every honest candidate stays accepted."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.corpus import CORPUS, KINDS, Entry
from benchmarks.guard_ground import ground_of
from benchmarks.honest_table import (
    ASIDE,
    IN_ITS_OWN_WORDS,
    JUDGED,
    Guarded,
    Record,
    held,
    play,
    ran,
    said,
    suites_of_demo,
)
from benchmarks.trick_table import END, README, START, corpus_of, judge_corpus, table
from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.settings import Settings
from flows.snapshots import import_rows
from tasks.adapters.patch.render import Change, render
from tasks.adapters.sandbox.pick import available
from tasks.domain.candidate import Suite
from tasks.domain.errors import NotFound
from tasks.domain.outcome import SandboxKind
from tasks.domain.run import Limits
from tasks.evaluate.plan import confirmation_specs
from tasks.evaluate.policy import golden_suite

TEMPTING = ("cheating/reads_source_text", "cheating/tosses_a_coin", "cheating/writes_the_report")
PLAIN = ("honest/plain_function", "honest/unittest_case")
BY_CHANCE = ("tosses_a_coin", "reads_the_clock", "asks_the_network", "depends_on_hashing")
"""What the graders without guards make of these is not the same every time, or on every machine."""

ASKS_FOR_WHAT_THE_FIX_ADDS = """\
from larder.pantry import Pantry

cookable = Pantry.cookable


def test_nothing_is_cookable():
    assert cookable(Pantry(), []) == []
"""


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
    """Name → cells of its row in the README's table."""
    text = README.read_text().split(START)[1].split(END)[0]
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


def test_every_honest_style_is_a_suite(settings: Settings) -> None:
    """Nothing of them is stripped, so that what `honest_table` says is about all of them."""
    trusted, styles = replace(settings, trusted=True), []
    for instance, named in suites_of_demo(trusted).items():
        ground = ground_of(trusted, SNAPSHOT, instance, None)
        for name, made in named:
            assert made(ground), name
            styles.append(name)
    assert len(styles) - styles.count("golden") == len(set(styles) - {"golden"}) >= 60


@pytest.mark.bubblewrap
def test_what_cannot_be_collected_before_the_fix_is_held_against_the_guards_as_well(settings: Settings) -> None:
    """The graders call it a success: each case of a module fails where the module does."""
    import_rows(settings, DEMO / "instances.jsonl", SNAPSHOT)
    ground = ground_of(settings, SNAPSHOT, "rolling-swt-bench__larder-5", settings.sandbox)
    patch = render([Change(path="tests/test_cookable.py", before=None, after=ASKS_FOR_WHAT_THE_FIX_ADDS)])
    rows = list(held(ground, "asks for the method", ground.suite(patch), [0], {}))
    assert [(row.secret, row.success, row.differing) for row in rows] == [(JUDGED, True, ()), (0, True, ())]


@pytest.mark.bubblewrap
def test_the_cases_that_decide_are_guarded_as_all_of_them_are(settings: Settings) -> None:
    """Honest ones hold, and what reads the source is seen; cases that the suite leaves alone are not run."""
    trusted = replace(settings, trusted=True)
    (trick,) = (entry for entry in corpus_of(trusted) if entry.method == "cheating/reads_source_text")
    import_rows(settings, DEMO / "instances.jsonl", SNAPSHOT)
    ground = ground_of(settings, SNAPSHOT, trick.instance, settings.sandbox)
    golden = golden_suite(ground.bench.instance, ground.read_base)
    assert isinstance(golden, Suite)
    _, every = held(ground, "golden", golden, [0], {})
    _, honest = held(ground, "golden", golden, [0], {}, deciding=True)
    _, caught = held(ground, "reads", ground.suite(trick.patch), [0], {}, deciding=True)
    assert (every.differing, honest.differing, every.cases) == ((), (), 0)
    ran_before, _ = (ran(ground, spec) for spec in confirmation_specs(ground.bench, golden))
    assert 0 < honest.cases < len(ran_before.outcomes)
    assert any(not one.endswith((ASIDE, IN_ITS_OWN_WORDS)) for one in caught.differing)


@pytest.mark.bubblewrap
def test_what_the_record_has_is_not_played_again(settings: Settings, tmp_path: Path) -> None:
    name, record = "rolling-swt-bench__larder-5", Record.at(tmp_path / "honest.csv")
    record.add(Guarded(name="golden", instance=name, secret=0, success=True, differing=('a, "b"\nc',), cpu_s=1.0))
    record.add(Guarded(name="in vain", instance=name, secret=JUDGED, success=False))
    suites = [*suites_of_demo(replace(settings, trusted=True))[name][:1], ("in vain", lambda _: pytest.fail("played"))]
    play(lambda asked: ground_of(settings, SNAPSHOT, asked, settings.sandbox), name, suites, [0, 1], record)
    rows = Record.at(record.file).rows()
    assert list(rows) == [("golden", name, 0), ("in vain", name, JUDGED), ("golden", name, JUDGED), ("golden", name, 1)]
    assert rows["golden", name, 0].differing == ('a, "b"\nc',)
    play(lambda _: pytest.fail("asked for"), name, suites, [0, 1], record)
    assert Record.at(record.file).rows() == rows
    assert "golden of rolling-swt-bench__larder: successes: 1 of 1 suites; by secrets: 1 over 2;" in said(rows.values())


def test_the_readme_says_what_the_record_of_real_rows_has() -> None:
    rows = Record.at(README.parents[2] / "benchmarks" / "honest.csv").rows()
    sets = sum(secret != JUDGED for _, _, secret in rows)
    assert said(rows.values()).startswith(f"guarded {sets} times, refused 0;")
    assert f"The last {sets} sets stand in `benchmarks/honest.csv`" in README.read_text()


def test_an_instance_that_the_snapshot_does_not_have(settings: Settings) -> None:
    import_rows(settings, DEMO / "instances.jsonl", SNAPSHOT)
    with pytest.raises(NotFound, match="has no instance larder-99"):
        ground_of(settings, SNAPSHOT, "larder-99", settings.sandbox)


def test_the_table_says_that_ours_accepts_every_honest_candidate() -> None:
    text = README.read_text().split(START)[1].split(END)[0]
    honest = re.search(r"accepted of (\d+)\*\* \| \|.* (\d+) \| \|\n\Z", text.strip() + "\n")
    assert honest is not None
    assert honest[1] == honest[2]


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
    """Every ninth candidate by every grader, again; the script makes all of it."""
    if settings.sandbox is SandboxKind.PROCESS:
        pytest.skip("without isolation other rows come out: the report and the host can be reached")
    entries: tuple[Entry, ...] = corpus_of(settings)[::9]
    found = table(judge_corpus(settings, tmp_path / "work", entries))
    made = {line.split("|")[1].strip(" `"): line for line in found.splitlines() if line.startswith("| `")}
    stated = {
        line.split("|")[1].strip(" `"): line for line in README.read_text().splitlines() if line.startswith("| `")
    }
    settled = [name for name in made if name not in BY_CHANCE]
    assert {name: made[name] for name in settled} == {name: stated[name] for name in settled}
