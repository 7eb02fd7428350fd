"""Who a predictions file speaks for: names given, names reserved, and no silent change of places."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tasks.domain.candidate import Candidate
from tasks.domain.errors import BadInput, UsageError
from tasks.domain.names import InstanceId, InstanceKey, MethodName, ModelName, SnapshotName
from tasks.evaluate.intake.identity import merged, method_names, refuse_disguised, resubmitted
from tasks.evaluate.intake.predictions import Predictions

NOW = datetime(2026, 1, 2, tzinfo=UTC)
FILES = ("a/one.jsonl", "b/two.jsonl")


def candidate(file: str, patch: str, method: str = "m", *, days: int = 0, number: int = 1) -> Candidate:
    key = InstanceKey(f"k{number}")
    return Candidate(
        candidate_id=Candidate.id_of(key, method, None, 0, patch),
        snapshot=SnapshotName("s"),
        instance_id=InstanceId(f"acme__box-{number}"),
        instance_key=key,
        method=MethodName(method),
        model=None,
        sample=0,
        patch=patch,
        provenance="self_reported",
        source=f"{file}:{number}",
        problem="",
        created_at=NOW + timedelta(days=days),
    )


def test_names_for_files() -> None:
    assert method_names(FILES, ()) == {}
    assert method_names(FILES[:1], ("mine",)) == {"a/one.jsonl": "mine"}
    assert method_names(FILES[:1], ("k=v",)) == {"a/one.jsonl": "k=v"}
    both = {"a/one.jsonl": "first", "b/two.jsonl": "second"}
    assert method_names(FILES, ("one.jsonl=first", "b/two.jsonl=second")) == both


@pytest.mark.parametrize(
    ("files", "asked", "words"),
    [
        ((), ("mine",), "there is no predictions file"),
        (FILES, ("mine",), "there are 2 files"),
        (FILES, ("three.jsonl=mine",), "there are 2 files"),
        (("a/x.jsonl", "b/x.jsonl"), ("x.jsonl=mine",), "there are 2 files"),
        (FILES, ("one.jsonl=",), "there are 1 files"),
        (FILES, ("one.jsonl=p", "one.jsonl=q"), "two method names: 'p' and 'q'"),
    ],
)
def test_names_that_fit_no_file_or_several(files: tuple[str, ...], asked: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        method_names(files, asked)


@pytest.mark.parametrize("name", ["golden", "nop"])
def test_a_file_cannot_speak_for_a_control(name: str) -> None:
    refuse_disguised("preds.jsonl", [candidate("preds.jsonl", "x")])
    with pytest.raises(BadInput, match=f"preds.jsonl calls its method '{name}'"):
        refuse_disguised("preds.jsonl", [candidate("preds.jsonl", "x"), candidate("preds.jsonl", "x", name)])


def test_two_files_with_different_patches_under_one_name_are_refused() -> None:
    read = {
        "a/one.jsonl": Predictions((candidate("one.jsonl", "x"), candidate("one.jsonl", "x", number=2)), ()),
        "b/two.jsonl": Predictions((candidate("two.jsonl", "y"), candidate("two.jsonl", "x", number=2)), ()),
    }
    with pytest.raises(BadInput, match=re.escape("one.jsonl and two.jsonl hold different patches of 'm' for 1 inst")):
        merged(read)


def test_files_that_say_the_same_or_speak_for_others_are_merged() -> None:
    first, other, last = candidate("one.jsonl", "x"), candidate("two.jsonl", "y", "n"), candidate("two.jsonl", "x")
    assert merged({"one.jsonl": Predictions((first,), ()), "two.jsonl": Predictions((other, last), ())}) == (
        first,
        other,
    )


def test_the_same_file_with_other_patches_is_a_resubmission() -> None:
    held = [candidate("one.jsonl", "old"), candidate("one.jsonl", "x", number=2)]
    again = [candidate("one.jsonl", "new", days=1), candidate("one.jsonl", "x", days=1, number=2)]
    assert resubmitted("a/one.jsonl", again, held) == (
        "one.jsonl: 1 predictions of 'm' replace what one.jsonl held before",
    )
    assert resubmitted("a/one.jsonl", again, again) == ()


def test_another_file_under_a_known_name_is_refused() -> None:
    held = [candidate("one.jsonl", "x")]
    assert resubmitted("two.jsonl", [candidate("two.jsonl", "x", days=1)], held) == ()
    with pytest.raises(BadInput, match=re.escape("two.jsonl: one.jsonl has 1 other patches of 'm'")):
        resubmitted("two.jsonl", [candidate("two.jsonl", "y", days=1)], held)


@pytest.mark.parametrize(
    "name",
    [
        *("Golden", "GOLDEN", "go1den", "goIden", "g0lden", "NOP", "n0p"),
        *(" golden", "golden ", "golden\t", "golden\n", "gol\u00a0den", "a  b"),
        *("golden\u200b", "gol\u200cden", "\ufeffgolden", "gol\u00adden", "a\u202eb", "a\x1b[2J", "a\x00", "\ud800"),
        *("g\u043elden", "g\u03bflden", "\u0261olden", "g\u1d0flden", "\uff47olden", "Assert\u0395lip", "n\u043ep"),
    ],
    ids=ascii,
)
def test_a_name_that_is_taken_for_another_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="calls its method"):
        refuse_disguised("preds.jsonl", [candidate("preds.jsonl", "x", name)])
    with pytest.raises(BadInput, match="calls its model"):
        refuse_disguised("preds.jsonl", [replace(candidate("preds.jsonl", "x"), model=ModelName(name))])


@pytest.mark.parametrize(
    "name",
    [
        *(
            "AssertFlip",
            "20240620_sweagent_claude3.5sonnet",
            "libro+test-file",
            "zero_shot[temperature=0.7]",
            "a b (c)",
        ),
        *(
            "m\u00e9thode",
            "\u03b2-method",
            "\u043c\u0435\u0442\u043e\u0434",
            "\u65b9\u6cd5 v2",
            "goldenrod",
            "snop",
            "I1|0",
        ),
    ],
    ids=ascii,
)
def test_other_names_are_taken(name: str) -> None:
    refuse_disguised("preds.jsonl", [candidate("preds.jsonl", "x", name)])


def test_a_file_cannot_add_to_what_was_made_here() -> None:
    label = "zero_shot[temperature=0.7]"
    made = [replace(candidate("run-1", "x", label), provenance="verified", source=label)]
    assert resubmitted("two.jsonl", [candidate("two.jsonl", "x", label)], made) == ()
    for patch, number in (("", 1), ("y", 1), ("x", 2)):
        with pytest.raises(
            BadInput, match=re.escape(f"calls its method {label!r}, whose candidates in the store were")
        ):
            resubmitted("two.jsonl", [candidate("two.jsonl", patch, label, number=number)], made)


def test_a_second_file_of_a_name_is_said() -> None:
    held = [candidate("one.jsonl", "x")]
    assert resubmitted("two.jsonl", [candidate("two.jsonl", "y", number=2)], held) == (
        "two.jsonl: 'm' is counted as one method with what one.jsonl calls so",
    )


def test_empty_patches_are_a_resubmission_like_any_other() -> None:
    held = [candidate("one.jsonl", "x")]
    (line,) = resubmitted("one.jsonl", [candidate("one.jsonl", "", days=1)], held)
    assert line == "one.jsonl: 1 predictions of 'm' replace what one.jsonl held before"
