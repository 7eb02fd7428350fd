"""Who a predictions file speaks for: names given, names reserved, and no silent change of places."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from tasks.domain.candidate import Candidate
from tasks.domain.errors import BadInput, UsageError
from tasks.domain.names import InstanceId, InstanceKey, MethodName, SnapshotName
from tasks.evaluate.identity import merged, method_names, refuse_reserved, resubmitted
from tasks.evaluate.predictions import Predictions

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
    refuse_reserved("preds.jsonl", [candidate("preds.jsonl", "x")])
    with pytest.raises(BadInput, match=f"preds.jsonl calls its method '{name}'"):
        refuse_reserved("preds.jsonl", [candidate("preds.jsonl", "x"), candidate("preds.jsonl", "x", name)])


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
