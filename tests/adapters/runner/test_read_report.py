"""The host's reader: whatever is in the file, it comes back with rows or counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.adapters.runner import report as reading
from tasks.adapters.runner.report import read_report
from tasks.adapters.runner.seal import sealed
from tasks.domain.names import RepoPath, RunKey
from tasks.domain.outcome import Outcome

KEY = RunKey("k")
SEAL = b"s" * 32
END = {"k": "end", "exit": 0, "complaint": ""}
CLOSED = {"k": "closed", "lost": 0, "refused": 0}


def case(name: str, outcome: str = "passed", **extra: Any) -> dict[str, Any]:
    known = {"k": "case", "case": name, "path": "t.py", "qualname": name, "label": name, "phase": "call", "message": ""}
    return {**known, "outcome": outcome, "duration": 0.5, **extra}


def read(path: Path, *records: dict[str, Any], tail: bytes = b"") -> reading.Report:
    target = path / "report.jsonl"
    target.write_bytes(b"".join(sealed((json.dumps(record).encode() for record in records), SEAL)) + tail)
    return read_report(target, KEY, SEAL)


def test_a_missing_report_is_an_incomplete_run(tmp_path: Path) -> None:
    report = read_report(tmp_path / "none", KEY, SEAL)
    assert (report.completed, report.cases, report.running) == (False, (), None)


def test_a_torn_last_line_loses_only_itself(tmp_path: Path) -> None:
    report = read(tmp_path, case("a"), tail=b'{"k":"case","case":"b')
    assert [row.case_id for row in report.cases] == ["a"]
    assert report.garbage == 1
    assert not report.completed


def settle(report: reading.Report, *files: str, cut: bool = True, under_way: Outcome = Outcome.ERROR) -> reading.Report:
    return report.settled(tuple(RepoPath(name) for name in files), "it broke", under_way=under_way, cut=cut)


def test_the_case_under_way_becomes_a_timeout(tmp_path: Path) -> None:
    report = read(tmp_path, {"k": "begin", "case": "a"}, case("a"), {"k": "begin", "case": "b"})
    assert report.running is not None
    ended = settle(report, under_way=Outcome.TIMEOUT)
    assert [(row.case_id, row.outcome, row.duration_s) for row in ended.cases] == [
        ("a", "passed", 0.5),
        ("b", "timeout", None),
    ]
    assert settle(ended) == ended


def collected(*names: str, files: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"k": "collected", "cases": [[name, "t.py", name] for name in names], "files": list(files)}


def test_cases_that_never_began_are_errors_without_a_printed_line(tmp_path: Path) -> None:
    report = read(
        tmp_path, collected("a", "b", "c"), {"k": "begin", "case": "a"}, case("a"), {"k": "begin", "case": "b"}
    )
    told = [(row.case_id, row.path, row.outcome, row.phase, row.label, row.position) for row in settle(report).cases]
    assert told == [
        ("a", "t.py", "passed", "call", "a", 0),
        ("b", "t.py", "error", "call", "", 1),
        ("c", "t.py", "error", "setup", "", 2),
    ]
    assert settle(report).cases[2].message == "never begun: it broke"


def test_a_case_has_the_place_that_its_runner_collected_it_at(tmp_path: Path) -> None:
    """Whether it ended or not; a record that is malformed gives none."""
    placed = {"k": "collected", "cases": [["a", "t.py", "f", 0], ["b", "t.py", "f", 1]], "files": []}
    broken = {"k": "collected", "cases": [["c", "t.py", "f", -1], ["d", "t.py", "f", "0"]], "files": []}
    report = read(tmp_path, placed, broken, case("a"), case("c"))
    assert [(row.case_id, row.place) for row in settle(report).cases] == [("a", 0), ("c", None), ("b", 1)]
    assert report.garbage == 1


def test_cases_that_never_began_are_told_of_a_quiet_end_as_well(tmp_path: Path) -> None:
    report = read(tmp_path, collected("a", "b"), {"k": "begin", "case": "a"}, case("a"), END, CLOSED)
    assert [(row.case_id, row.outcome) for row in settle(report, cut=False).cases] == [("a", "passed"), ("b", "error")]


def test_a_case_that_passed_once_and_was_under_way_again_did_not_pass(tmp_path: Path) -> None:
    report = read(tmp_path, {"k": "begin", "case": "a"}, case("a"), {"k": "begin", "case": "a"})
    assert [(row.case_id, row.outcome, row.position) for row in settle(report).cases] == [("a", "error", 0)]


def test_a_teardown_of_several_cases_has_a_row_only_where_it_did_not_end(tmp_path: Path) -> None:
    step = {"k": "shared", "step": ["T.tearDownClass", "t.py", "T.tearDownClass"]}
    whole = read(tmp_path, case("a"), step, {"k": "shared", "step": None}, END, CLOSED)
    assert [row.case_id for row in settle(whole).cases] == ["a"]
    torn = settle(read(tmp_path, case("a"), step))
    assert [(row.case_id, row.outcome, row.phase) for row in torn.cases] == [
        ("a", "passed", "call"),
        ("T.tearDownClass", "error", "teardown"),
    ]


def test_of_a_session_that_was_cut_off_files_nobody_saw_are_errors(tmp_path: Path) -> None:
    report = read(tmp_path, collected(files=("empty.py",)), case("a"))
    assert [row.case_id for row in settle(report, "t.py", "empty.py", "late.py").cases] == ["a", "late.py"]
    assert [row.case_id for row in settle(report, "late.py", cut=False).cases] == ["a"]


def test_of_several_outcomes_the_gravest_counts(tmp_path: Path) -> None:
    report = read(tmp_path, case("a"), case("a", "error", phase="teardown"), case("a", "skipped"))
    assert [(row.outcome, row.phase) for row in report.cases] == [("error", "teardown")]
    assert report.duplicates == ("a",)


def test_hits_of_one_context_are_one_row(tmp_path: Path) -> None:
    hit = {"k": "hits", "path": "m.py", "case": None}
    counted = read(tmp_path, {**hit, "lines": [3, 1], "counts": [5, 1]}, {**hit, "lines": [2, 3], "counts": [7, 1]})
    assert [(row.case_id, row.lines, row.counts) for row in counted.hits] == [(None, (1, 2, 3), (1, 7, 6))]


def test_hits_without_counts_have_none(tmp_path: Path) -> None:
    hit = {"k": "hits", "path": "m.py", "case": None}
    report = read(tmp_path, {**hit, "lines": [3, 1], "counts": None}, {**hit, "lines": [2, 3], "counts": [1, 1]})
    assert [(row.lines, row.counts) for row in report.hits] == [((1, 2, 3), None)]


@pytest.mark.parametrize("counts", [[1], [1, 0], [1, -1], [1, True], [1, 1.0], [1, 10**12], "11", {}])
def test_counts_that_fit_no_lines_are_garbage(tmp_path: Path, counts: object) -> None:
    report = read(tmp_path, {"k": "hits", "path": "m.py", "case": None, "lines": [1, 2], "counts": counts})
    assert (report.hits, report.garbage) == ((), 1)


def test_surrogates_become_text(tmp_path: Path) -> None:
    report = read(tmp_path, case("caf\udce9", message="\ud800"))
    assert report.cases[0].case_id == "caf\\udce9"
    assert report.cases[0].message == "\\ud800"


def test_too_many_cases_are_counted(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(reading, "MAX_CASES", 3)
    report = read(tmp_path, *(case(f"c{n}") for n in range(5)))
    assert (len(report.cases), report.overflow) == (3, 2)


def test_memory_has_an_end(tmp_path: Path, monkeypatch) -> None:
    """Names and messages of 4,000 characters, a hundred thousand times, were some gigabytes."""
    monkeypatch.setattr(reading, "MAX_CHARS", 30)
    named = [[f"c{n}", "t.py", "q" * 4] for n in range(2)]
    report = read(
        tmp_path,
        {"k": "collected", "cases": named, "files": []},
        {"k": "collected", "cases": named, "files": []},
        case("c0"),
        {"k": "hits", "path": "m.py", "case": "c" * 9, "lines": [1], "counts": [1]},
        case("c1", message="m" * 5_000),
        END,
        CLOSED,
    )
    assert ([step.case_id for step in report.collected], len(report.cases), report.hits) == (["c0", "c1"], 1, ())
    assert report.overflow == 2


def test_what_was_dropped_may_have_failed(tmp_path: Path, monkeypatch) -> None:
    """So nobody hides a failing case behind many that pass."""
    monkeypatch.setattr(reading, "MAX_CASES", 3)
    report = read(tmp_path, *(case(f"c{n}") for n in range(3)), case("c4", "failed"), END, CLOSED)
    ended = settle(report, "t.py", "u.py", cut=False)
    told = {row.case_id: row.outcome for row in ended.cases if row.outcome is not Outcome.PASSED}
    assert told == {"t.py": Outcome.ERROR, "u.py": Outcome.ERROR}
    assert settle(ended, "t.py", "u.py", cut=False) == ended


def test_a_watched_file_without_probes_is_named(tmp_path: Path) -> None:
    facts = {"k": "file", "path": "m.py", "loaded": True, "executable": [2, 1], "note": "x"}
    report = read(tmp_path, {**facts, "probed": False})
    assert report.unprobed == ("m.py",)
    assert report.watched[0].executable == (1, 2)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)
names = st.sampled_from(["collected", "begin", "shared", "case", "hits", "file", "end", "other"])
fields = st.sampled_from(
    [
        "case",
        "path",
        "lines",
        "outcome",
        "phase",
        "duration",
        "executable",
        "exit",
        "complaint",
        "cases",
        "files",
        "step",
    ]
)
values = st.sampled_from(["passed", "call", "a", [1, 2], ["a", "b", "c"], [["a", "b", "c"]], 1.5]) | anything
records = st.builds(lambda name, rest: {**rest, "k": name}, names, st.dictionaries(fields, values, max_size=8))


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(records | anything, max_size=12), st.binary(max_size=30))
def test_nothing_in_the_file_breaks_the_reader(tmp_path: Path, content: list[Any], tail: bytes) -> None:
    target = tmp_path / "report.jsonl"
    target.write_bytes(b"".join(sealed((json.dumps(item).encode() for item in content), SEAL)) + tail)
    report = settle(read_report(target, KEY, SEAL), "late.py")
    assert report.running is None
    for row in report.cases:
        (row.case_id + row.label + row.message + row.qualname + row.path).encode("utf-8")
        assert len(row.message) <= reading.MESSAGE_CHARS
    assert len({row.case_id for row in report.cases}) == len(report.cases)


def test_a_run_that_ends_before_its_first_case_is_an_error_for_every_file(tmp_path: Path) -> None:
    report = settle(read(tmp_path), "a.py", "b.py")
    told = [(row.case_id, row.phase, row.outcome, row.label, row.message, row.position) for row in report.cases]
    assert told == [("a.py", "collect", "error", "", "it broke", 0), ("b.py", "collect", "error", "", "it broke", 1)]


def test_cases_keep_the_place_of_their_first_report(tmp_path: Path) -> None:
    report = read(tmp_path, case("a"), case("b"), case("a", "error", phase="teardown"))
    assert [(row.case_id, row.position) for row in report.cases] == [("a", 0), ("b", 1)]


def test_a_report_is_complete_when_the_runner_and_its_keeper_say_so(tmp_path: Path) -> None:
    assert read(tmp_path, case("a"), END, CLOSED).completed
    assert not read(tmp_path, case("a"), END).completed
    assert not read(tmp_path, case("a"), CLOSED).completed
    assert not read(tmp_path, END, {**CLOSED, "lost": 1}).completed


def test_what_comes_after_the_end_does_not_count(tmp_path: Path) -> None:
    report = read(tmp_path, case("a"), END, case("b"), CLOSED)
    assert [row.case_id for row in report.cases] == ["a"]
    assert report.garbage == 1


def test_lines_without_the_seal_are_passed_over(tmp_path: Path) -> None:
    read(tmp_path, case("a"), case("b"), END, CLOSED)
    path = tmp_path / "report.jsonl"
    first, second, *rest = path.read_bytes().splitlines(keepends=True)
    plain = json.dumps(case("b", "failed")).encode() + b"\n"
    forged = next(sealed([json.dumps(case("c")).encode()], b"x" * 32))
    path.write_bytes(b"".join([first, plain, forged, first, second, *rest]))
    report = read_report(path, KEY, SEAL)
    assert [(row.case_id, row.outcome) for row in report.cases] == [("a", "passed"), ("b", "passed")]
    assert (report.garbage, report.completed) == (3, True)


def test_a_line_that_was_changed_or_taken_out_ends_the_report(tmp_path: Path) -> None:
    read(tmp_path, case("a"), case("b", "failed"), END, CLOSED)
    path = tmp_path / "report.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines).replace(b"failed", b"passed"))
    assert [row.case_id for row in read_report(path, KEY, SEAL).cases] == ["a"]
    path.write_bytes(b"".join(lines[:1] + lines[2:]))
    report = read_report(path, KEY, SEAL)
    assert ([row.case_id for row in report.cases], report.completed) == (["a"], False)
