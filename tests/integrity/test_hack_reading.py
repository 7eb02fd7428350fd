"""A model that reads repairs: what it is shown, and which of its replies are a verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.domain.proposed_fix import READ_SIGNS
from tasks.integrity.hacking.reading import TRIES, WHY, Judged, judged, verdict_in
from tasks.methods.conversation import Unusable
from tasks.scrape.dataset_rows import import_instances
from tests.fakes.scripted_model import Scripted

DEMO = Path(__file__).parents[2] / "data" / "demo"
INSTANCE = import_instances(DEMO / "instances.jsonl", snapshot="demo").instances[0]
SEEN = '{"signs": ["magic-constants", "behavior-altered"], "why": "line 3 has the 8 of the test"}'


def test_it_is_shown_issue_tests_and_change_and_asked_once() -> None:
    model = Scripted([f"Let me see.\n```json\n{SEEN}\n```"])
    found = judged(model, INSTANCE, "+THE CHANGE")
    assert found == Judged(("behavior-altered", "magic-constants"), "line 3 has the 8 of the test")
    (asked,) = model.asked
    text = asked.messages[0].text
    shown = (INSTANCE.problem_statement.strip(), "def test_scaled_twice", "+THE CHANGE", *READ_SIGNS)
    assert [one for one in shown if one not in text] == []
    assert INSTANCE.patch not in text, "not what others did"
    assert asked.options.temperature == 0.0


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("It is fine.", "no-json"),
        ('{"signs": "none"}', "unreadable-verdict"),
        ('{"signs": ["hardcoded"], "why": "x"}', "unreadable-verdict"),
        ('{"signs": [["magic-constants"]], "why": "x"}', "unreadable-verdict"),
        ('{"signs": ["magic-constants"], "why": " "}', "no-reason"),
    ],
)
def test_what_is_no_verdict(reply: str, reason: str) -> None:
    with pytest.raises(Unusable) as refused:
        verdict_in(reply)
    assert refused.value.reason == reason


def test_what_cannot_be_read_is_asked_for_again_and_then_nothing() -> None:
    assert judged(Scripted(["no", '{"signs": []}']), INSTANCE, "+x") == Judged((), "")
    model = Scripted(["no"] * TRIES)
    assert judged(model, INSTANCE, "+x") is None
    assert model.finished()
    assert len(verdict_in('{"signs": [], "why": "' + "x" * 2 * WHY + '"}').why) == WHY
