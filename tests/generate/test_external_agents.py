"""What becomes of an agent that works, stops, crashes, hangs, spends too much, or looks where it should not."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from agent_bench import KEY, MODEL, STILLBORN, WALKER, Office, office, put, toy_bench
from desk import SETTINGS, SNAPSHOT, Desk

from tasks.adapters.agents.aider import VALIDATE
from tasks.adapters.agents.base import AgentTask
from tasks.adapters.agents.catalogue import agent_named
from tasks.adapters.agents.running import AgentFailed, AgentLimits, AgentResult, send
from tasks.adapters.llm.base import Reply
from tasks.adapters.llm.errors import BudgetExhausted
from tasks.adapters.llm.gateway.recorder import as_trajectory, steps_in
from tasks.adapters.llm.limits.budget import Budget as Ceiling
from tasks.adapters.llm.limits.budget import Meter
from tasks.adapters.sandbox.bubblewrap import Bubblewrap
from tasks.adapters.workbench.local import LocalWorkbench
from tasks.domain.candidate import Candidate
from tasks.domain.errors import NotFound, UsageError
from tasks.domain.generation import Generation, GenerationStatus, Mode
from tasks.domain.guards import TrajectoryAudit
from tasks.domain.llm import AgentRun, LlmCall, Work
from tasks.domain.variant import variant_of
from tasks.generate.methods.external import External, errand_for, validation_of
from tasks.generate.registry import methods
from tasks.generate.task import Generated, MethodWork, generate
from tasks.methods.method import CodePatch, MethodBudget
from tests.fakes.scripted_model import Scripted
from tests.fakes.scripted_provider.script import Fault, Step
from tests.fakes.toy_tasks import TOY_TASKS

WRITE = """
import pathlib
for name in ("tests/test_issue.py", ".walker.cache/map", "tests/.walkerrc"):
    path = pathlib.Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("def test_issue():\\n    assert False\\n")
"""
ALLOWED = AgentLimits(calls=5, seconds=60.0)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LocalWorkbench]:
    put(tmp_path / "agents")
    with toy_bench(tmp_path) as made:
        yield made


def go(made: Office, bench: LocalWorkbench, allowance: AgentLimits = ALLOWED) -> AgentResult:
    return send(WALKER, "an errand", bench, made.model(), allowance)


def test_what_it_did_is_its_work_and_what_it_left_of_its_own_is_not(bench: LocalWorkbench, tmp_path: Path) -> None:
    with office(tmp_path, [WRITE, "stop"]) as made:
        back = go(made, bench)
        (row,) = made.store.read(AgentRun)
        calls = made.store.read(LlmCall)
    assert [change.path for change in back.changes] == ["tests/test_issue.py"]
    assert back.left_out == (".walker.cache/map", "tests/.walkerrc")
    assert back.ending == ()
    assert (row.calls, row.method, row.model, row.trouble, row.stopped) == (2, "walker", MODEL, "", "")
    assert row.cost_usd == pytest.approx((row.tokens_in + 2 * row.tokens_out) / 1_000_000)
    assert row.tokens_in > 0
    assert {call.run_token for call in calls} == {row.run_token}


def test_one_that_changes_nothing(bench: LocalWorkbench, tmp_path: Path) -> None:
    with office(tmp_path, ["stop"]) as made:
        (proposal,) = External(agent=WALKER)(TOY_TASKS[0].assignment, bench, made.model(), MethodBudget(seconds=60.0))
    assert (proposal.patch, proposal.calls, proposal.path) == ("", 1, ("ran", "nothing-changed"))


def test_one_that_crashes_hands_in_what_it_has(bench: LocalWorkbench, tmp_path: Path) -> None:
    kill = "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"
    with office(tmp_path, [WRITE, kill]) as made:
        (proposal,) = External(agent=WALKER)(TOY_TASKS[0].assignment, bench, made.model(), MethodBudget(seconds=60.0))
    assert "+def test_issue():" in proposal.patch
    assert (proposal.path, proposal.rung) == (("ran", "exit-137"), "exact")
    assert proposal.reasons[1].startswith("ended: exit-137")


def test_one_that_hangs_is_ended_with_all_that_it_started(bench: LocalWorkbench, tmp_path: Path) -> None:
    late = "import time; time.sleep(4); open('late.py', 'w').write('x = 1')"
    hang = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {late!r}]); import time; time.sleep(60)"
    with office(tmp_path, [WRITE, hang]) as made:
        back = go(made, bench, AgentLimits(calls=5, seconds=3.0, grace_s=0.0))
    assert back.ending == ("timed-out",)
    time.sleep(2.0)
    assert "late.py" not in [change.path for change in bench.changes()]
    assert [change.path for change in back.changes] == ["tests/test_issue.py"]


def test_its_budget_ends_it_and_what_it_has_counts(bench: LocalWorkbench, tmp_path: Path) -> None:
    with office(tmp_path, [WRITE] * 9) as made:
        back = go(made, bench, AgentLimits(calls=2, seconds=60.0))
        assert len(made.provider.books) == 2
    assert back.ending == ("budget-calls", "exit-1")
    assert (back.account.calls, len(back.changes)) == (2, 1)


def test_the_budget_of_who_else_pays_is_no_end_of_its_own(bench: LocalWorkbench, tmp_path: Path) -> None:
    with office(tmp_path, [WRITE] * 9) as made:
        sweep = Meter("sweep", Ceiling(calls=2))
        model = made.model()
        model = replace(model, caller=replace(model.caller, meters=(sweep,)))
        with pytest.raises(BudgetExhausted, match="sweep has used 2 of 2 calls"):
            send(WALKER, "an errand", bench, model, ALLOWED)


def test_a_failing_provider_is_not_its_failure(bench: LocalWorkbench, tmp_path: Path) -> None:
    with office(tmp_path, [WRITE, Step(fault=Fault.SERVER)]) as made, pytest.raises(AgentFailed, match="provider"):
        go(made, bench)


def test_one_that_never_asks_has_not_come_to_work(bench: LocalWorkbench, tmp_path: Path) -> None:
    put(tmp_path / "agents2")
    with office(tmp_path, []) as made, pytest.raises(AgentFailed, match=r"exit code 1 before .*no such setting"):
        send(STILLBORN, "an errand", bench, made.model(), ALLOWED)


def test_it_needs_to_be_installed_and_a_model_behind_a_switchboard(tmp_path: Path) -> None:
    with office(tmp_path, []) as made, toy_bench(tmp_path) as bench:
        with pytest.raises(NotFound, match="walker is not installed"):
            go(made, bench)
        with pytest.raises(UsageError, match="gateway"):
            send(WALKER, "an errand", bench, Scripted([]), ALLOWED)


def test_a_script_is_handed_in_as_a_test(bench: LocalWorkbench, tmp_path: Path) -> None:
    write = "open('reproduction_script.py', 'w').write('assert False, 1')"
    assignment = replace(TOY_TASKS[0].assignment, mode=Mode.REPRODUCTION_SCRIPT)
    with office(tmp_path, [write, "stop"]) as made:
        (proposal,) = External(agent=WALKER)(assignment, bench, made.model(), MethodBudget(seconds=60.0))
        asked = made.provider.books[0].spoken.messages[0].text
    assert "def test_reproduction_script" in proposal.patch
    assert "to `reproduction_script.py` at the root" in asked


def test_the_errand_says_no_more_than_a_method_may_know() -> None:
    """Context is shown only where the experiment is about it, and a right patch looks like a wrong one."""
    plain = TOY_TASKS[0].assignment
    assert plain.context[0].text not in errand_for(WALKER, plain, MethodBudget())
    shown = errand_for(WALKER, replace(plain, modified_files=True), MethodBudget())
    assert "return len(text.split" in shown
    told = [
        errand_for(WALKER, replace(plain, code_patch=CodePatch(text="+fix", correct=correct)), MethodBudget())
        for correct in (True, False)
    ]
    assert told[0] == told[1]
    assert "+fix" in told[0]


def test_who_is_told_how_tests_are_run() -> None:
    """The paper told SWE-agent nothing of it; the experiment may say so of any agent, or the contrary."""
    command = " ".join(TOY_TASKS[0].assignment.task.test_command)
    told = {
        (name, param): command
        in errand_for(agent_named(name), replace(TOY_TASKS[0].assignment, variant=variant_of(param)), MethodBudget())
        for name in ("swe_agent", "swe_agent_plus", "aider")
        for param in ((), ("test_command=told",), ("test_command=untold",))
    }
    assert [name for (name, param), said in told.items() if said and not param] == ["swe_agent_plus", "aider"]
    assert {param: said for (_, param), said in told.items() if param} == {
        ("test_command=told",): True,
        ("test_command=untold",): False,
    }
    advice = agent_named("swe_agent_plus").advice
    assert "run your tests" in advice
    assert "run" not in agent_named("swe_agent").advice


def test_aider_runs_the_edited_tests_only_where_the_experiment_says_so(tmp_path: Path) -> None:
    errand = AgentTask(
        root=tmp_path, url="", token="t", model="m", prompt="", outbox=PurePosixPath("/o"),
        checkout=PurePosixPath("/c"), calls=1,
    )  # fmt: skip
    plain = agent_named("aider").launch(errand)
    assert not {"--auto-test", "--test-cmd"} & set(plain.argv)
    assert validation_of(TOY_TASKS[0].assignment) is None
    checks = validation_of(replace(TOY_TASKS[0].assignment, variant=variant_of(("validation=tests",))))
    checked = agent_named("aider").launch(replace(errand, validation=checks))
    assert {"--auto-test", "--test-cmd"} < set(checked.argv)
    assert checked.files.keys() - plain.files.keys() == {"validate.py", "validation.json"}


@pytest.mark.parametrize(("targets", "expected"), [("path", "tests/test_b.py"), ("module", "test_b")])
def test_its_validation_runs_tests_that_were_edited_and_says_what_failed(
    tmp_path: Path, targets: str, expected: str
) -> None:
    (tmp_path / "validate.py").write_text(VALIDATE)
    checkout = tmp_path / "checkout"
    (checkout / "tests").mkdir(parents=True)
    for name in ("test_a.py", "test_b.py"):
        (checkout / "tests" / name).write_text("")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=b@c", *words], cwd=checkout, check=True)
    echo = [sys.executable, "-c", "import sys; print(sys.argv[1:]); sys.exit(3 * bool(sys.argv[1:]))"]
    (tmp_path / "validation.json").write_text(json.dumps({"command": echo, "targets": targets}))

    def ran() -> tuple[int, str]:
        words = [sys.executable, str(tmp_path / "validate.py")]
        done = subprocess.run(words, cwd=checkout, capture_output=True, text=True)
        return done.returncode, done.stdout.strip()

    assert ran() == (0, "")
    (checkout / "tests" / "test_b.py").write_text("x = 1\n")
    (checkout / "code.py").write_text("x = 1\n")
    assert ran() == (3, repr([expected]))


def test_a_new_release_or_prompt_is_other_work() -> None:
    other = replace(WALKER, kit=replace(WALKER.kit, requirements=("walker==2",)))  # type: ignore[arg-type]
    assert len({WALKER.key, other.key, replace(WALKER, advice="").key}) == 3
    assert {method.version for method in methods().values() if method.external} != {""}


SPY = """
import json, os, pathlib, socket, subprocess
seen = {"env": dict(os.environ), "files": {}}
for path in ("/root", "/home", "STORE", "MIRROR"):
    try:
        seen["files"][path] = os.listdir(path)
    except OSError as error:
        seen["files"][path] = type(error).__name__
for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
    try:
        seen[str(path)] = path.read_text()
    except OSError:
        pass
seen["git"] = subprocess.run(["git", "log", "--all", "--oneline"], capture_output=True, text=True).stdout
try:
    socket.create_connection(("127.0.0.1", PORT), timeout=2)
    seen["provider"] = "reached"
except OSError:
    seen["provider"] = "unreachable"
pathlib.Path("tests/test_transcripts.py").write_text("SEEN = " + repr(json.dumps(seen)))
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """The demo's first instance, and the walker as somebody's method, by entry point."""
    info = tmp_path / "walker-1.dist-info"
    info.mkdir()
    (tmp_path / "walkers_method.py").write_text(
        "from agent_bench import WALKER\nfrom tasks.methods.method import Method\n"
        "from tasks.generate.methods.external import External\n"
        "walker = Method(name='walker', run=External(agent=WALKER), summary='x', version=WALKER.key, external=True)\n"
    )
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: walker\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rolling_swt_bench.methods]\nwalker = walkers_method:walker\n")
    monkeypatch.syspath_prepend(tmp_path)
    made = Desk(tmp_path)
    put(made.places.agents)
    return made


def run(desk: Desk, made: Office) -> Generated:
    work = Work(method="walker", snapshot=SNAPSHOT, instance_id=desk.instance.instance_id)
    settings = replace(SETTINGS, budget=MethodBudget(calls=5, seconds=60.0))

    def models(_work: MethodWork, key: str) -> object:
        return made.model(replace(work, instance_key=key))

    return generate(desk.places, settings, models, replace(desk.request, method="walker", model=MODEL))


@pytest.mark.bubblewrap
def test_a_look_around_finds_nothing_and_is_on_record(desk: Desk, tmp_path: Path) -> None:
    if reason := Bubblewrap().why_not():
        pytest.skip(reason)
    told: list[str] = []

    def script(call: object) -> Step:
        told.append(str(call))
        return Step(reply=Reply(text=f"```python\n{spy}```" if len(told) == 1 else "stop"))

    with office(tmp_path, script) as made:
        port = next(iter(made.board.wires.values())).base_url.rpartition(":")[2].partition("/")[0]  # type: ignore[attr-defined]
        spy = SPY.replace("STORE", str(tmp_path / "store")).replace("MIRROR", str(desk.places.mirrors))
        spy = spy.replace("PORT", port)
        done = run(desk, made)
        assert (done.proposed, done.left) == (1, ())
        again = run(desk, made)
        assert (again.reused, len(made.provider.books)) == (1, 2)
    (candidate,) = desk.store.read(Candidate)
    (row,) = desk.store.read(Generation)
    (account,) = desk.store.read(AgentRun)
    assert (candidate.provenance, row.status, row.path) == ("verified", GenerationStatus.PROPOSED, ("ran",))
    assert KEY not in candidate.patch
    assert '"provider": "unreachable"' in candidate.patch
    for hidden in (tmp_path / "store", desk.places.mirrors):
        assert f'"{hidden}": "FileNotFoundError"' in candidate.patch
    assert account.calls == row.calls == 2
    with desk.store.open_file(account.trajectory) as file:
        steps = as_trajectory(steps_in(file.read()))
    assert any("git" in step.text for step in steps)
    assert row.trajectory == account.trajectory
    assert not desk.store.read(TrajectoryAudit), "an agent without tools says what it runs in its thoughts"
    everything = b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())
    assert KEY.encode() not in everything


@pytest.mark.bubblewrap
def test_trouble_leaves_no_candidate_and_the_work_is_done_again(desk: Desk, tmp_path: Path) -> None:
    if reason := Bubblewrap().why_not():
        pytest.skip(reason)
    with office(tmp_path, [WRITE, Step(fault=Fault.SERVER), "stop"]) as made:
        assert len(run(desk, made).left) == 1
        assert desk.store.read(Candidate) == ()
        assert run(desk, made).proposed == 1
    (row,) = desk.store.read(Generation)
    assert row.status is GenerationStatus.PROPOSED
    assert len([call for call in made.provider.books if call.delivered]) == 2
