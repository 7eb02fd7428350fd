"""The stage's task on the bundled project and a real store: candidates and generations out, nothing asked for twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from desk import Desk

from tasks.adapters.llm.errors import ProviderFailed
from tasks.adapters.llm.gateway.recorder import steps_in
from tasks.domain.candidate import Candidate
from tasks.domain.errors import NotFound
from tasks.domain.generation import Generation, GenerationStatus, Mode
from tasks.domain.guards import LeakAudit, TrajectoryAudit
from tasks.generate.task import GOLDEN
from tests.fakes.contract import HELPFUL
from tests.fakes.scripted_model import Scripted


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_candidate_and_its_generation(desk: Desk) -> None:
    done = desk.generate("zero_shot_plus", Scripted([HELPFUL]))
    assert (done.proposed, done.left) == (1, ())
    (candidate,) = desk.store.read(Candidate)
    (row,) = desk.store.read(Generation)
    assert (candidate.provenance, candidate.method, candidate.model) == ("verified", "zero_shot_plus", "scripted")
    assert "+def test_issue():" in candidate.patch
    assert (row.candidate_id, row.status, row.path) == (
        candidate.candidate_id,
        GenerationStatus.PROPOSED,
        ("asked", "applied"),
    )
    assert done.generation_ids == (row.generation_id,)
    assert not desk.store.read(LeakAudit)[0].blocked


def test_the_same_is_not_asked_again_and_something_else_is(desk: Desk) -> None:
    model = Scripted([HELPFUL, HELPFUL])
    desk.generate("zero_shot_plus", model)
    assert desk.generate("zero_shot_plus", model).reused == 1
    assert len(model.asked) == 1
    other = replace(desk.request, context=("larder/pantry.py",))
    assert desk.generate("zero_shot_plus", model, other).reused == 0
    assert len(desk.store.read(Generation)) == 2
    assert len(desk.store.read(Candidate)) == 1
    assert len(desk.store.read(LeakAudit)) == 1


LOOK = "```bash\ngit log --all | cat; cat /proc/1/cmdline\n```"
WRITE = "```bash\nprintf 'def test_issue():\\n    assert False\\n' > tests/test_issue.py\n```"


def test_what_a_method_saw_is_kept_and_audited(desk: Desk) -> None:
    desk.generate("agent", Scripted([LOOK, WRITE, "```bash\nsubmit\n```"]))
    (row,) = desk.store.read(Generation)
    found = desk.store.read(TrajectoryAudit, candidate_id=row.candidate_id)
    assert [(one.step, one.rule) for one in found] == [(2, "all-history"), (2, "other-place")]
    with desk.store.open_file(row.trajectory or "") as file:
        steps = steps_in(file.read())
    assert [step.role for step in steps] == ["user", *["assistant", "assistant", "user"] * 2, "assistant"]
    assert json.loads(steps[2].arguments)["command"].startswith("/bin/sh -c git log --all")
    assert desk.store.check() == ()


def test_a_sample_answers_for_what_was_seen_before_it(desk: Desk) -> None:
    told = f"It was mended in {'f' * 40}."
    desk.store.write([replace(desk.instance, environment_setup_commit="f" * 40)])
    desk.generate("pass_at_5", Scripted([HELPFUL, HELPFUL + told, *[HELPFUL] * 3]))
    samples = {row.candidate_id: row.sample for row in desk.store.read(Generation)}
    found = desk.store.read(TrajectoryAudit)
    assert sorted((samples[row.candidate_id], row.step, row.rule) for row in found) == [
        (number, 3, "later-commit") for number in (1, 2, 3, 4)
    ]
    assert len({row.trajectory for row in desk.store.read(Generation)}) == 1


def test_a_failing_provider_leaves_no_candidate_and_is_tried_again(desk: Desk) -> None:
    failing = Scripted([HELPFUL, HELPFUL, ProviderFailed("503 from the provider", kind="server")])
    done = desk.generate("pass_at_5", failing)
    (left,) = done.left
    assert (done.proposed, left.error, left.may_pass, left.tried_again) == (0, "provider", True, True)
    assert "503" in left.detail
    (row,) = desk.store.read(Generation)
    assert (row.status, row.candidate_id, row.reasons) == (
        GenerationStatus.INFRASTRUCTURE,
        None,
        ("provider: 503 from the provider",),
    )
    assert desk.store.read(Candidate) == ()
    assert desk.generate("pass_at_5", Scripted([HELPFUL] * 5)).proposed == 5
    assert {one.status for one in desk.store.read(Generation)} == {GenerationStatus.PROPOSED}


def test_a_refusal_is_an_empty_candidate(desk: Desk) -> None:
    assert desk.generate("zero_shot", Scripted(["No."])).nothing == 1
    assert [one.patch for one in desk.store.read(Candidate)] == [""]


def test_what_an_experiment_hands_out_is_flagged(desk: Desk) -> None:
    request = replace(desk.request, fix=GOLDEN, test_file="tests/test_recipe.py")
    model = Scripted([HELPFUL])
    desk.generate("zero_shot_plus", model, request)
    assert [one.provenance for one in desk.store.read(Candidate)] == ["oracle"]
    assert [one.given for one in desk.store.read(Generation)] == [("test-file", "golden-patch")]
    assert desk.instance.patch.strip() in model.asked[0].last
    assert "def test_scaled(pancakes):" in model.asked[0].last


def test_a_script_is_handed_in_as_a_test_module(desk: Desk) -> None:
    request = replace(desk.request, mode=Mode.REPRODUCTION_SCRIPT)
    desk.generate("zero_shot", Scripted([HELPFUL]), request)
    (candidate,) = desk.store.read(Candidate)
    assert "+++ b/tests/test_reproduction_script.py" in candidate.patch
    assert desk.store.read(Generation)[0].mode is Mode.REPRODUCTION_SCRIPT


def test_an_unknown_commit_is_a_problem_and_no_candidate(desk: Desk) -> None:
    gone = replace(desk.instance, base_commit="0" * 40, instance_id="rolling-swt-bench__larder-9")
    desk.store.write([gone])
    with pytest.raises(NotFound, match="no commit"):
        desk.generate("zero_shot", Scripted([]), replace(desk.request, instance_id=gone.instance_id))
    assert desk.store.read(Candidate) == ()
