"""Attempts at a repair in the report: their page, what stands on the page of fixes, and what is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sql_store import SqlStore
from test_pages import HELD_BACK, HOSTILE, PATCH, Tags, answer, assert_every_link_leads_somewhere, built, small, texts

PAGE = "repair/one/a.html"
ATTEMPT = {"attempt_id": "a", "instance_key": "one", "instance_id": "one", "method": "tdflow", "model": "gpt"}
SECRETS = {"submission": HELD_BACK, "case_id": f"test_a.py::{HELD_BACK}", "reasons": [f"touches-tests: {HELD_BACK}"]}


def attempted(store: SqlStore, text: str = HELD_BACK) -> None:
    """An attempt at the instance `one` with two iterations: not applied, then one of two targets; all that tells the
    answer says so."""
    for iteration, agent, usd in (
        (0, "generate-tests", 0.5), (1, "explore-files", 1.0), (1, "revise-patch", 0.25), (2, "explore-files", 1.0),
        (2, "debug-one", 2.25),
    ):  # fmt: skip
        told = {name: [text] if isinstance(value, list) else text for name, value in SECRETS.items()}
        more = {"branches": ["asked", "view_file"], "submitted": True, "calls": 3, "cost_usd": usd, **told}
        store.add("repair_step", **ATTEMPT, iteration=iteration, agent=agent, **more)
    store.add("repair_patch", **ATTEMPT, iteration=1, patch=PATCH.format(text), problem=f"does-not-apply: {text}")
    ran = {"status": "completed", "rung": "exact", "targets": 2, "resolved": 1, "guarded": 4, "broken": [text]}
    store.add("repair_patch", **ATTEMPT, iteration=2, patch=PATCH.format(text), **ran)
    alone = {"reason": "earlier-case", "among": "AssertionError", "alone": "passed", "earlier": [text]}
    store.add("lone_case", **ATTEMPT, iteration=2, case_id=text, **alone)
    store.add("repair_audit", **ATTEMPT, step=3, rule="fetch", detail=text)
    ended = {"end": "passed", "iterations": 2, "iteration": 2, "patch": PATCH.format(text), "trajectory": "file"}
    store.add("repair_attempt", **ATTEMPT, snapshot="s", tests="m", calls=15, cost_usd=4.5, tests_usd=0.5, **ended)
    store.add("proposed_fix", fix_id="f" * 8, instance_key="one", instance_id="one", problem="does-not-apply: x")
    handed_in = {"snapshot": "s", "repair_id": "r", "fix_id": "f" * 8, "source": "a", "tests": "m"}
    store.add("repair", **handed_in, **{name: ATTEMPT[name] for name in ATTEMPT if name != "attempt_id"})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with an attempt, whose instance is not held out."""
    store, folder = SqlStore(), tmp_path_factory.mktemp("site")
    small(store)
    attempted(store)
    assert built(store, folder).pages == 6 + 1 + 2 + 2 + 4 + 1
    return folder


@pytest.mark.slow
def test_an_attempt_has_a_page_of_its_steps_with_their_patches(site: Path) -> None:
    pages = texts(site)
    page = pages[PAGE]
    assert re.findall(r"<h3>(.*?)</h3>", page) == ["Before the first iteration", "Iteration 1", "Iteration 2"]
    rows = re.findall(r'<tr><th scope="row">([a-z-]+).*?</td><td>(.*?)<', page, re.S)
    assert rows == [
        ("generate-tests", "handed in"),
        ("explore-files", "handed in"),
        ("revise-patch", "handed in"),
        ("tests", f"not applied: does-not-apply: {HELD_BACK}"),
        ("explore-files", "handed in"),
        ("tests", "1 of 2 targets pass, 1 of 4 others broken"),
        ("debug-one", "handed in"),
    ]
    assert page.count("<h4>The patch") == 2
    assert page.count("which is the one that was handed in") == 1
    assert "earlier-case, after" in page
    assert "Suspected of fetch" in page
    assert "<h2>Conversations</h2>" in page
    assert f'href="{"../" * 2}candidate/one/' in page, "its tests are the candidate of `m`"
    assert PAGE.partition("/")[2] in pages["instance/one.html"]
    assert_every_link_leads_somewhere(site)


def test_the_page_of_fixes_has_judges_costs_of_sub_agents_and_attempts(site: Path) -> None:
    page = texts(site)["fixes.html"]
    (judges,) = re.findall(r'<h2 id="judges">.*?</tbody>', page, re.S)
    numbered = r'</th><td>([a-z ,]+)</td>.*?data-v="([\d.]+)".*?((?:<td class="n"[^>]*>\d+</td>){3})'
    told = re.findall(numbered, judges, re.S)
    assert [(name, rate, re.findall(r">(\d+)<", numbers)) for name, rate, numbers in told] == [
        ("golden tests", "0.0", ["0", "1", "0"]),
        ("golden tests, strict", "0.0", ["0", "1", "0"]),
        ("its own tests", "100.0", ["1", "1", "1"]),
    ], "its own tests pass, and it would have been believed wrongly"
    (agents,) = re.findall(r'<h2 id="agents">.*?</tbody>', page, re.S)
    shares = re.findall(r'</th><td>([a-z-]+)</td>.*?data-v="([\d.]+)">[^<]*</td></tr>', agents)
    assert shares == [
        ("debug-one", "45.0"), ("explore-files", "40.0"), ("generate-tests", "10.0"), ("revise-patch", "5.0")
    ]  # fmt: skip
    assert 'href="repair/one/a.html"' in page


@pytest.mark.slow
def test_of_a_held_out_instance_nothing_is_told_that_tells_the_answer(store: SqlStore, tmp_path: Path) -> None:
    small(store, manifest="m")
    attempted(store)
    built(store, tmp_path)
    pages = texts(tmp_path)
    assert "1 of 2 targets pass" in pages[PAGE]
    assert "Held out" in pages[PAGE]
    assert "<h2>Conversations</h2>" not in pages[PAGE]
    assert [path for path, text in pages.items() if HELD_BACK in text] == []
    shown = answer(store, "SELECT patch FROM page_repair('s', true)", ["page_repair"])
    assert HELD_BACK in shown[0]["patch"]


@pytest.mark.slow
def test_nothing_that_a_model_wrote_becomes_markup(store: SqlStore, tmp_path: Path) -> None:
    small(store)
    attempted(store, HOSTILE)
    built(store, tmp_path)
    page = texts(tmp_path)[PAGE]
    tags = Tags(page).found
    assert [one.get("src") for tag, one in tags if tag == "script"] == ["../../asset/site.js"]
    assert "img" not in {tag for tag, _ in tags}
    assert page.count("&lt;script&gt;") >= 10


def test_an_attempt_that_another_took_the_place_of_has_no_page(store: SqlStore) -> None:
    small(store)
    attempted(store)
    later = {"snapshot": "s", "repair_id": "q", "fix_id": "f" * 8, "source": "b", "method": "tdflow", "model": "gpt"}
    named = {"instance_key": "one", "instance_id": "one", "created_at": "2027-01-01T00:00:00+00:00"}
    store.add("repair", **later, **named)
    assert answer(store, "SELECT attempt_id FROM page_repair('s', false)", ["page_repair"]) == ()
