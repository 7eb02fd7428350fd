"""The questions of the report, and the site that is made of their answers: what it shows, and what it must not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from sql_store import SqlStore

from tasks.adapters.store.views.sql_files import WITH_WITHDRAWN
from tasks.report.prose import pieces
from tasks.report.rows import ReportRows, questions
from tasks.report.talk import Talk, TalkStep
from tasks.report.task import SiteMade, write_site

HOSTILE = "\"><script>alert('x')</script><img src=x onerror=alert(1)>{{ 7*7 }}&lt;"
HELD_BACK = "the-golden-side"
"""Stands wherever only those may look who may see the answer."""
PATCH = """\
diff --git a/src.py b/src.py
--- a/src.py
+++ b/src.py
@@ -1,3 +1,3 @@
 def f():
-    return 1
+    return 2  # {0}
"""
HELD = "SELECT held_out FROM held_out WHERE snapshot = 's'"
SOLVED = {"test_a.py::new": "- - failed passed"}


def rows_of(store: SqlStore, *, with_golden: bool = False) -> ReportRows:
    asked = questions("s", with_golden=with_golden)
    found = {name: answer(store, sql, asked) for name, sql in asked.items()}
    return ReportRows("s", found)


def answer(store: SqlStore, sql: str, names: Iterable[str]) -> tuple[dict[str, Any], ...]:
    """Rows of `sql`, with what `names` need."""
    store.define(*names)
    return tuple(store.ask(sql).to_arrow_table().to_pylist())


def built(store: SqlStore, folder: Path, *, golden: bool = False) -> SiteMade:
    return written(rows_of(store, with_golden=golden), folder, golden=golden)


def written(rows: ReportRows, folder: Path, *, golden: bool = False) -> SiteMade:
    step = TalkStep(
        position=0, thread=0, role=HOSTILE, tool=HOSTILE, pieces=pieces(HOSTILE), command=HOSTILE, left_out=0
    )
    talk = Talk(steps=(step,), total=1)
    return write_site(rows, folder, golden=golden, talk=lambda _: talk)


def small(store: SqlStore, *, manifest: str = "") -> None:
    """Two instances, golden and a method; all that is golden says so."""
    store.add("snapshot", snapshot="s", instances=2, manifest=manifest)
    for name in ("one", "two"):
        secret = {"patch": PATCH.format(HELD_BACK), "test_patch": PATCH.format(HELD_BACK)}
        store.instance(name, removed=[2], added=[2], repo="o/r", base_commit="0" * 40, **secret)
        store.judged(name, "golden", {f"test_a.py::{HELD_BACK}": "- - failed passed"}, provenance="oracle", **PATCHED)
        store.judged(name, "m", SOLVED, provenance="self_reported", patch=PATCH.format("mine"))
    store.con.execute(
        f"UPDATE case_outcome SET message = CASE WHEN run_key IN (SELECT run_key FROM run WHERE code_state = 'after') "
        f"THEN '{HELD_BACK}' ELSE 'said before' END"
    )
    store.con.execute(f"UPDATE suite SET patch = '{PATCH.format(HELD_BACK)}' WHERE kind = 'golden'")


PATCHED = {"patch": PATCH.format(HELD_BACK)}


def decoy(store: SqlStore, number: int, outcome: str, *, instance: str = "one") -> None:
    """A valid decoy, and what the case of the method `m` does on it."""
    of = {"fix_id": f"decoy{number}", "instance_key": instance, "instance_id": instance}
    store.add("proposed_fix", **of, patch=PATCH.format(f"{HELD_BACK} {number}"))
    patch = PATCH.format(f"{HELD_BACK} {number}")
    store.add("decoy", **of, number=number, kind="mutant", near=True, detail=f"{HELD_BACK}:3", patch=patch)
    for suite, cells in (
        (f"{instance}-golden", {f"test_a.py::{HELD_BACK}": "failed"}),
        (f"{instance}-m", {"test_a.py::new": outcome}),
    ):
        run = store.run(instance, suite, "before", cells, variant="proposed")
        store.add("fix_run", **of, suite_id=suite, run_key=run)


def texts(folder: Path) -> dict[str, str]:
    """Everything that is written, by path."""
    kinds = (".html", ".svg", ".json")
    return {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.suffix in kinds}


class Tags(HTMLParser):
    """What a page consists of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_a_page_for_each_instance_method_and_candidate(store: SqlStore, tmp_path: Path) -> None:
    small(store)
    assert built(store, tmp_path).pages == 6 + 2 + 2 + 4
    pages = texts(tmp_path)
    assert "test_a.py::new" in pages["instance/one.html"]
    assert HELD_BACK in pages["instance/one.html"]
    assert ">ability</th>" not in pages["index.html"]
    assert re.findall(r'data-v="([\d.]+)"', pages["index.html"].partition("method/m.html")[2])[0] == "100.0"
    assert_every_link_leads_somewhere(tmp_path)


def assert_every_link_leads_somewhere(folder: Path) -> None:
    """And every page can be reached."""
    reached = set()
    for path, page in texts(folder).items():
        tags = Tags(page).found if path.endswith(".html") else []
        ids = {attributes["id"] for _, attributes in tags if attributes.get("id")}
        for _, attributes in tags:
            for target in filter(None, (attributes.get("href"), attributes.get("src"))):
                place, _, part = target.partition("#")
                found = (folder / path).parent / unquote(place) if place else folder / path
                assert found.is_file(), f"{path} → {target}"
                assert not part or place or part in ids, f"{path} → {target}"
                reached.add(found.resolve())
    assert {path.resolve() for path in folder.rglob("*.html")} <= reached


def test_nothing_that_strangers_wrote_becomes_markup(store: SqlStore, tmp_path: Path) -> None:
    """Names, statements, patches, messages, flags, reasons: wherever the text of others can get."""
    store.add("snapshot", snapshot="s", instances=1, source=HOSTILE, previous=HOSTILE)
    store.add("snapshot", snapshot=HOSTILE)
    store.add("withdrawal", snapshot=HOSTILE, reason=HOSTILE)
    text = dict.fromkeys(("repo", "version", "problem_statement", "base_commit", "hints_text"), HOSTILE)
    hostile = PATCH.replace("src.py", HOSTILE).format(HOSTILE)
    store.instance(HOSTILE, removed=[2], patch=hostile, test_patch=hostile, **text)
    store.add("quality_flag", snapshot="s", instance_id=HOSTILE, instance_key=HOSTILE, flag="long", detail=HOSTILE)
    store.judged(
        HOSTILE, HOSTILE, {f"test_a.py::{HOSTILE}": "- - failed passed"}, model=HOSTILE, source=HOSTILE, patch=hostile
    )
    (candidate,) = store.one("SELECT candidate_id FROM candidate")
    generated = {"candidate_id": candidate, "trajectory": "file", "path": [HOSTILE], "method": HOSTILE}
    store.add("generation", snapshot="s", instance_id=HOSTILE, generation_id="g", **generated)
    store.add("proposed_fix", fix_id="f" * 8, instance_key=HOSTILE, problem=HOSTILE)
    store.add("repair", snapshot="s", repair_id="r", fix_id="f" * 8, instance_key=HOSTILE, method=HOSTILE)
    store.add("snapshot_change", snapshot="s", instance_id=HOSTILE, change="retired", reason=HOSTILE)
    store.con.execute("UPDATE case_outcome SET message = ?", [HOSTILE])
    store.con.execute("UPDATE suite SET patch = ?", [hostile])
    store.con.execute(WITH_WITHDRAWN)  # as flows ask
    built(store, tmp_path, golden=True)
    store.con.execute("RESET VARIABLE withdrawn")
    pages = {path: page for path, page in texts(tmp_path).items() if path.endswith(".html")}
    assert len(pages) == 6 + 3 + 1
    for path, page in pages.items():
        tags = Tags(page).found
        assert [one.get("src") for tag, one in tags if tag == "script"] == [f"{'../' * path.count('/')}asset/site.js"]
        assert not {tag for tag, _ in tags} & {"img", "iframe", "object", "embed", "base"}
        assert not [name for _, one in tags for name in one if name.startswith("on") or name == "style"], path
        assert not [one for _, one in tags if re.match(r"\s*(javascript|data):", one.get("href") or "")]
        assert "default-src 'none'" in page
    assert sum("&lt;script&gt;" in page for page in pages.values()) >= 6
    assert_every_link_leads_somewhere(tmp_path)
    assert sum("{{ 7*7 }}" in page for page in pages.values()) >= 6


def test_names_that_lead_elsewhere_stay_inside(store: SqlStore, tmp_path: Path) -> None:
    store.add("snapshot", snapshot="s", instances=1)
    store.instance("../../up", repo="o/r")
    store.judged("../../up", "/etc/x", SOLVED)
    built(store, tmp_path / "site")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_what_a_submitter_must_not_see_is_left_out(store: SqlStore, tmp_path: Path) -> None:
    """Of the newest month: golden patch, golden tests, the names of their cases; of any: messages on fixed code."""
    small(store, manifest="m")
    built(store, tmp_path / "default")
    assert [path for path, text in texts(tmp_path / "default").items() if HELD_BACK in text] == []
    assert "said before" in "".join(texts(tmp_path / "default").values())
    built(store, tmp_path / "all", golden=True)
    shown = [path for path, text in texts(tmp_path / "all").items() if HELD_BACK in text]
    assert {path.partition("/")[0] for path in shown} == {"instance", "candidate"}
    assert len(shown) == 2 + 4


def test_a_candidate_page_shows_the_patch_of_a_decoy_that_it_accepts(store: SqlStore, tmp_path: Path) -> None:
    small(store)
    decoy(store, 0, "failed")
    decoy(store, 1, "passed")
    built(store, tmp_path)
    pages = texts(tmp_path)
    page = next(text for path, text in pages.items() if path.startswith("candidate/one/") and "<h1>m on one" in text)
    assert "✓ rejected" in page
    assert "× accepted" in page
    assert f"accepts a decoy (mutant): {HELD_BACK}:3" in page
    assert [number for number in "01" if f"{HELD_BACK} {number}" in page] == ["1"]
    assert "solved, but a robustness check fails" in page
    assert "Fewer than two valid decoys" not in pages["instance/one.html"]
    assert re.search(r"<dt>valid decoys</dt><dd>2</dd>", pages["instance/one.html"])
    row = pages["index.html"].partition("method/m.html")[2].partition("</tr>")[0]
    assert "1 of 2" in row


def test_decoys_of_a_held_out_instance_have_no_detail_and_no_patch(store: SqlStore, tmp_path: Path) -> None:
    small(store, manifest="m")
    decoy(store, 0, "passed")
    (row,) = (
        row
        for row in answer(store, "FROM page_candidate('s', false)", ["page_candidate"])
        if (row["method"], row["instance_id"]) == ("m", "one")
    )
    assert row["decoys"] == [{"kind": "mutant", "detail": None, "rejected": False, "why": None, "patch": None}]
    assert [one for one in row["guards"] if one["guard"] == "decoy"] == [
        {"guard": "decoy", "result": "failed", "why": None}
    ]
    built(store, tmp_path)
    pages = texts(tmp_path)
    assert [path for path, text in pages.items() if HELD_BACK in text] == []
    assert "Fewer than two valid decoys" in pages["instance/one.html"]


def test_the_leaderboard_ranks_by_robust_success(store: SqlStore, tmp_path: Path) -> None:
    """`m` solves both instances and accepts their decoys; `n` solves one and rejects its decoy."""
    store.add("snapshot", snapshot="s", instances=2)
    for number, name in enumerate(("one", "two")):
        store.instance(name, repo="o/r")
        for state, outcome in (("before", "failed"), ("after", "passed")):
            store.run(name, f"{name}-golden", state, {f"test_a.py::{HELD_BACK}": outcome})
        for variant in ("placebo", "paraphrase", "variant"):
            store.add("guard_edit", instance_key=name, variant=variant, patch="", skipped=["a.txt: it is not Python"])
        for method, after in (("m", "passed"), ("n", "failed" if number else "passed")):
            store.judged(name, method, {"test_a.py::new": f"- - failed {after}"})
            for state, outcome in (("before", "failed"), ("after", after)):
                store.run(name, f"{name}-{method}", state, {"test_a.py::new": outcome}, variant="repeat")
        decoy(store, number, "passed", instance=name)
        run = store.run(name, f"{name}-n", "before", {"test_a.py::new": "failed"}, variant="proposed")
        of = {"fix_id": f"decoy{number}", "instance_key": name, "instance_id": name}
        store.add("fix_run", **of, suite_id=f"{name}-n", run_key=run)
    built(store, tmp_path)
    page = texts(tmp_path)["index.html"]
    shown = re.findall(r'href="method/(\w)\.html".*?<b>([\d.]+)</b>.*?<b>([\d.]+)</b>', page, re.S)
    assert shown == [("n", "50.0", "50.0"), ("m", "0.0", "100.0")]


@pytest.mark.parametrize(("manifest", "followed", "held"), [("", False, False), ("m", False, True), ("m", True, False)])
def test_the_newest_month_is_held_out_until_another_follows(
    store: SqlStore, manifest: str, followed: bool, held: bool
) -> None:
    store.add("snapshot", snapshot="s", manifest=manifest)
    store.instance("i")
    if followed:
        store.add("snapshot", snapshot="t", manifest="n", previous="s")
    assert answer(store, HELD, ["held_out"]) == ({"held_out": held},)


def test_a_withdrawn_month_opens_nothing(store: SqlStore) -> None:
    store.add("snapshot", snapshot="s", manifest="m")
    store.instance("i")
    store.add("snapshot", snapshot="t", manifest="n", previous="s")
    store.add("withdrawal", snapshot="t", reason="a mistake")
    assert answer(store, HELD, ["held_out"]) == ({"held_out": True},)


def test_only_what_changed_is_written_again(store: SqlStore, tmp_path: Path) -> None:
    small(store)
    rows = rows_of(store)
    first = written(rows, tmp_path)
    assert written(rows, tmp_path).written == 0
    one, two = rows["page_instance"]
    other = {**rows.answered, "page_instance": ({**one, "problem_statement": "new words"}, two)}
    again = written(ReportRows("s", other), tmp_path)
    assert (again.pages, again.written) == (first.pages, 1)
    kept = [row for row in rows["page_candidate"] if (row["method"], row["instance_id"]) != ("m", "one")]
    written(ReportRows("s", {**other, "page_candidate": tuple(kept)}), tmp_path)
    assert len(list((tmp_path / "candidate" / "one").iterdir())) == 1


def test_a_snapshot_that_nobody_tried_has_a_report(store: SqlStore, tmp_path: Path) -> None:
    store.add("snapshot", snapshot="s", instances=1)
    store.instance("i", repo="o/r")
    assert built(store, tmp_path).pages == 7


def test_ability_and_fixes_have_their_place_where_they_are_known(store: SqlStore, tmp_path: Path) -> None:
    """The scale beside the score, snapshots by how hard they are, and which fixes tests keep; else no such page."""
    small(store)
    store.add("snapshot", snapshot="t", instances=1)
    store.instance("three", snapshot="t", removed=[2], added=[2])
    store.judged("three", "m", SOLVED, snapshot="t")
    store.judged("one", "n", {"test_a.py::new": "- - failed failed"})
    fitted = {"grader": "paper", "guarded": False, "part": 0}
    for method, ability in (("m", 1.25), ("n", -0.5)):
        store.add("method_ability", method=method, ability=ability, low=ability - 1, high=ability + 1, **fitted)
    for snapshot, difficulty in (("s", 0.0), ("t", 0.75)):
        store.add("snapshot_difficulty", snapshot=snapshot, difficulty=difficulty, low=0.5, high=1.0, **fitted)
    store.add("proposed_fix", fix_id="f" * 8, instance_key="one", instance_id="one", problem="does-not-apply")
    repair = {"snapshot": "s", "instance_key": "one", "instance_id": "one", "repair_id": "r", "fix_id": "f" * 8}
    store.add("repair", method="mender", **repair)
    assert built(store, tmp_path).pages == 6 + 2 + 2 + 3 + 5
    pages = texts(tmp_path)
    assert re.search(r'data-v="1.25">1.25<span class="under">0.25 to 2.25</span>', pages["index.html"])
    assert re.search(r">t</th>.*0.75<span", pages["method/m.html"])
    assert "mender" in pages["fixes.html"]
    assert "only the first" in pages["comparisons.html"]
    assert {"figure/ability.svg", "figure/hardness.svg", "figure/repair.svg"} <= pages.keys()
    assert_every_link_leads_somewhere(tmp_path)


def test_signs_of_test_hacking_stand_where_the_fixes_do(store: SqlStore, tmp_path: Path) -> None:
    """How many of a method's repairs show each on the page of fixes, which of them on the instance's; what a detector
    quotes may be what golden tests ask for, so it is golden."""
    small(store, manifest="m")
    store.add("proposed_fix", fix_id="f" * 8, instance_key="one", instance_id="one", problem="does-not-apply")
    repair = {"snapshot": "s", "instance_key": "one", "instance_id": "one", "fix_id": "f" * 8}
    store.add("repair", method="mender", repair_id="r", **repair)
    store.add("repair", method="clean", repair_id="q", **repair)
    seen = {"version": 1, "path": HOSTILE, "line": 3, "detail": f"quoted {HELD_BACK}"}
    store.add("hack_finding", repair_id="r", sign="hardcoded", **seen)
    store.add("hack_finding", repair_id="r", sign="magic-constants", **seen)
    store.add("hack_finding", repair_id="q", version=1, sign="")
    built(store, tmp_path / "held")
    pages = texts(tmp_path / "held")
    (section,) = re.findall(r'<h2 id="hacking">.*?</tbody>', pages["fixes.html"], re.S)
    rows = re.findall(r"<th scope=\"row\">(.*?)</th><td>([a-z-]+)<.*?<td>(flag|note)</td><td[^>]*>(\d)<", section)
    assert rows == [("mender", "hardcoded", "flag", "1"), ("mender", "magic-constants", "note", "1")]
    page = next(text for path, text in pages.items() if path.startswith("instance/") and "mender" in text)
    assert "counts as failed" in page
    assert "hardcoded, magic-constants" in page
    assert not [path for path, text in pages.items() if HELD_BACK in text or HOSTILE in text]
    built(store, tmp_path / "shown", golden=True)
    assert f"quoted {HELD_BACK}" in texts(tmp_path / "shown")["instance/one.html"]


def test_who_read_a_fix_has_the_last_word_on_its_page(store: SqlStore, tmp_path: Path) -> None:
    """As in `strict_rate`: what they clear does not count as failed, what only they see does."""
    small(store)
    for name, signs in (("cleared", ["hardcoded"]), ("caught", [""])):
        store.add("proposed_fix", fix_id=name, instance_key="one", instance_id="one", problem="does-not-apply")
        of = {"snapshot": "s", "instance_key": "one", "instance_id": "one", "fix_id": name}
        store.add("repair", method=name, repair_id=name, **of)
        for sign in signs:
            store.add("hack_finding", repair_id=name, version=1, sign=sign, path="x.py", line=3, detail="y")
    for reviewer, caught in (("ada", ["hardcoded"]), ("ben", ["magic-constants"]), ("eva", [])):
        store.add("hack_label", repair_id="caught", reviewer=reviewer, signs=caught)
        store.add("hack_label", repair_id="cleared", reviewer=reviewer, signs=[])
    rows = answer(store, "FROM page_fix('s', false)", ["page_fix"])
    assert [(row["fix_id"], row["flagged"], row["reviewers"], row["signs"]) for row in rows] == [
        ("caught", True, "2 of 3", []),
        ("cleared", False, "0 of 3", ["hardcoded"]),
    ]
    assert store.rows("SELECT repair_id, hack, signs FROM repair_label ORDER BY 1") == [
        ("caught", True, []),
        ("cleared", False, []),
    ]
    built(store, tmp_path)
    page = texts(tmp_path)["instance/one.html"]
    assert page.count("counts as failed") == 1
    assert "test hacking to 2 of 3 who read it" in page


def test_what_became_of_a_candidate(store: SqlStore) -> None:
    store.add("snapshot", snapshot="s")
    store.instance("i")
    store.judged("i", "solves", SOLVED)
    store.judged("i", "misses", {"test_a.py::new": "- - failed failed"})
    store.candidate("i", "broken")
    store.candidate("i", "waits", suite=store.suite("i", "waits"))
    rows = answer(store, "FROM page_candidate('s', false)", ["page_candidate"])
    found = [(row["method"], row["outcome"]) for row in rows]
    assert sorted(found) == [
        ("broken", "malformed"),
        ("misses", "missed"),
        ("solves", "solved"),
        ("waits", "unmeasured"),
    ]
