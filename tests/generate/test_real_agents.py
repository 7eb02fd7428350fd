"""A real agent, installed by its adapter and sent out: the whole way but for the model, which is scripted.

Asked for by SWT_TEST_AGENTS=<folder>: what is not installed there is, about 700 MB each from the package registry.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from agent_bench import KEY, MODEL, Office, office

from tasks.adapters.agents.base import EditedTests
from tasks.adapters.agents.catalogue import agent_named
from tasks.adapters.agents.install import Installer
from tasks.adapters.agents.running import AgentLimits, send
from tasks.adapters.git.histories import Histories
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.llm.base import Finish, Reply, Role, ToolCall
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.llm.errors import BudgetExhausted
from tasks.adapters.llm.gateway.recorder import steps_in
from tasks.adapters.llm.limits.budget import Budget, Meter
from tasks.adapters.sandbox.bubblewrap import Bubblewrap
from tasks.adapters.sandbox.select import pick as pick_sandbox
from tasks.adapters.uv.host_environment import host_environment
from tasks.adapters.workbench.local import LocalWorkbench, WorkspaceConfig
from tasks.demo.history import build_mirror
from tasks.domain.errors import BuildFailed, InfrastructureError, NotFound
from tasks.domain.llm import AgentRun, LlmCall, Work
from tasks.scrape.dataset_rows import import_instances
from tests.fakes.scripted_provider.script import Step

DEMO = Path(__file__).parents[2] / "data" / "demo"
TEST = "def test_issue():\n    assert False\n"
REFUSALS = 3
"""That an agent may ask for at most: a client's own two further tries are over in seconds."""
COMMANDS = (
    "env; cat /proc/*/environ | tr '\\0' '\\n'",
    "git log --all --oneline | wc -l; git remote; python -c 'import larder; print(larder.__file__)'",
    f"printf '{TEST}' > tests/test_issue.py; python -m pytest -q tests/test_issue.py",
    "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
)
pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.bubblewrap]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LocalWorkbench]:
    """The demo's first instance."""
    if reason := Bubblewrap().why_not():
        pytest.skip(reason)
    instance = import_instances(DEMO / "instances.jsonl", snapshot="demo").instances[0]
    mirrors = Mirrors(tmp_path / "mirrors")
    mirrors.add(instance.repo, build_mirror(DEMO, tmp_path / "demo.git"))
    trees = Trees(mirrors, tmp_path / "trees")
    repo, sha = instance.repo, instance.base_commit
    scratch = tmp_path / "scratch"
    scratch.mkdir(mode=0o711)
    supplies = WorkspaceConfig(
        paths=mirrors.list_paths(repo, sha),
        read_base=lambda path: mirrors.read_file(repo, sha, path),
        fill=lambda folder: trees.checkout(repo, sha, folder),
        fill_for_shell=lambda folder: Histories(trees).checkout(repo, sha, folder),
        environment=lambda: host_environment(repo),
        sandbox=Bubblewrap(scratch),
        scratch=scratch,
    )
    with LocalWorkbench(supplies) as made:
        yield made


def installed(bench: LocalWorkbench, name: str) -> LocalWorkbench:
    """The bench with the agent; skips where nobody asks for it, or a registry or an interpreter is missing."""
    if "SWT_TEST_AGENTS" not in os.environ:
        pytest.skip("installs some 700 MB: set SWT_TEST_AGENTS to a folder for them")
    folder = Path(os.environ["SWT_TEST_AGENTS"])
    try:
        Installer(
            folder=folder,
            environ=os.environ,
            sandbox=pick_sandbox(None, trusted=True, base=folder.parent),
            scratch=folder.parent / "scratch",
        ).install(agent_named(name))
    except (BuildFailed, InfrastructureError, NotFound) as error:
        pytest.skip(f"{name} cannot be installed here: {error}")
    return LocalWorkbench(replace(bench.supplies, agents=folder))


def shell(call: ClientRequest) -> Step:
    """The next command, by how many were answered."""
    done = sum(message.role is Role.TOOL for message in call.messages)
    command = ToolCall(call_id=f"c{done}", name="bash", arguments=json.dumps({"command": COMMANDS[done]}))
    return Step(reply=Reply(text="", tool_calls=(command,), finish_reason=Finish.TOOL_CALLS))


def submits(call: ClientRequest) -> Step:
    """The same for one that has a tool to end with."""
    done = sum(message.role is Role.TOOL for message in call.messages)
    if done < len(COMMANDS) - 1:
        return shell(call)
    last = ToolCall(call_id=f"c{done}", name="submit", arguments="{}")
    return Step(reply=Reply(text="", tool_calls=(last,), finish_reason=Finish.TOOL_CALLS))


def described(call: ClientRequest) -> Step:
    """The same for one that wants every command described, ends by a plain answer, and asks for a title beforehand."""
    done = sum(message.role is Role.TOOL for message in call.messages)
    if not call.tools or done == len(COMMANDS) - 1:
        return Step(reply=Reply(text="Done."))
    given = json.dumps({"command": COMMANDS[done], "description": "look"})
    command = ToolCall(call_id=f"c{done}", name="bash", arguments=given)
    return Step(reply=Reply(text="", tool_calls=(command,), finish_reason=Finish.TOOL_CALLS))


def edit_text() -> str:
    return f"tests/test_issue.py\n```python\n<<<<<<< SEARCH\n=======\n{TEST}>>>>>>> REPLACE\n```\n"


def edit(_: ClientRequest) -> Step:
    return Step(reply=Reply(text=edit_text()))


def rows(made: Office, name: str) -> AgentRun:
    (row,) = made.store.read(AgentRun)
    assert (row.method, row.trouble, row.stopped) == (name, "", "")
    assert row.calls == len(made.provider.books) == len(made.store.read(LlmCall)) > 0
    assert row.tokens_in > 0
    assert row.cost_usd is not None
    everything = b"".join(path.read_bytes() for path in made.folder.rglob("store/**/*") if path.is_file())
    assert KEY.encode() not in everything
    return row


@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    ("name", "script"),
    [("mini_swe_agent", shell), ("opencode", described), ("aider", edit), ("swe_agent", submits)],
)
def test_an_agent_from_its_registry(name: str, script: object, bench: LocalWorkbench, tmp_path: Path) -> None:
    with office(tmp_path, script) as made, installed(bench, name) as ready:  # type: ignore[arg-type]
        work = Work(method=name, instance_id="a__b-1", instance_key="k")
        back = send(agent_named(name), "Write a test.", ready, made.model(work), AgentLimits(calls=8, seconds=600.0))
        row = rows(made, name)
        with made.store.open_file(row.trajectory) as file:
            steps = steps_in(file.read())
    assert back.ending == ()
    assert [(change.path, change.after) for change in back.changes] == [("tests/test_issue.py", TEST)]
    outputs = [step.text for step in steps if step.role == "tool"]
    if outputs:
        assert all(KEY not in text for text in outputs)
        assert "OPENAI_API_KEY=\n" in outputs[0]
        assert "1" in outputs[1].splitlines()
        assert "1 failed" in outputs[2]


@pytest.mark.timeout(1500)
@pytest.mark.parametrize(("name", "script"), [("mini_swe_agent", shell), ("swe_agent", submits)])
def test_an_agent_whose_payer_has_nothing_left_does_not_ask_for_minutes(
    name: str, script: object, bench: LocalWorkbench, tmp_path: Path
) -> None:
    """The gateway has tried again already whatever is worth another try."""
    with office(tmp_path, script) as made, installed(bench, name) as ready:  # type: ignore[arg-type]
        work = Work(method=name, instance_id="a__b-1", instance_key="k")
        model = made.board.model(MODEL, work, meters=(Meter("sweep", Budget(calls=1)),))
        with pytest.raises(BudgetExhausted, match="sweep"):
            send(agent_named(name), "Write a test.", ready, model, AgentLimits(calls=8, seconds=600.0))
        (row,) = made.store.read(AgentRun)
        with made.store.open_file(row.trajectory) as file:
            steps = steps_in(file.read())
    assert (row.calls, row.stopped) == (1, "payer: calls")
    assert 0 < sum(step.role == "error" for step in steps) <= REFUSALS


@pytest.mark.timeout(1500)
def test_aider_mends_what_does_not_fit_and_what_does_not_parse(bench: LocalWorkbench, tmp_path: Path) -> None:
    """Its reflection works in the sandbox: an edit of text that is not there, then a file that is no Python."""
    name = "tests/test_issue.py"
    bad = "larder/recipe.py\n```python\n<<<<<<< SEARCH\nno such line\n=======\nx = 1\n>>>>>>> REPLACE\n```\n"
    broken = f"{name}\n```python\n<<<<<<< SEARCH\n=======\ndef test_issue(:\n>>>>>>> REPLACE\n```\n"
    mended = f"{name}\n```python\n<<<<<<< SEARCH\ndef test_issue(:\n=======\n{TEST}>>>>>>> REPLACE\n```\n"
    with office(tmp_path, [bad, broken, mended]) as made, installed(bench, "aider") as ready:
        work = Work(method="aider", instance_id="a__b-1", instance_key="k")
        back = send(agent_named("aider"), "Write a test.", ready, made.model(work), AgentLimits(calls=8, seconds=600.0))
    assert (back.ending, back.account.calls) == ((), 3)
    assert [(change.path, change.after) for change in back.changes] == [(name, TEST)]


@pytest.mark.timeout(1500)
def test_aider_is_shown_what_its_edited_tests_say(bench: LocalWorkbench, tmp_path: Path) -> None:
    """The paper's test validation: a test that fails comes back to the model, three times at most."""
    more = f"tests/test_issue.py\n```python\n<<<<<<< SEARCH\n{TEST}=======\n{TEST}\n\nMORE = 1\n>>>>>>> REPLACE\n```\n"
    checks = EditedTests(command=("python", "-m", "pytest", "-q"), targets="path")
    with office(tmp_path, [edit_text(), more, "It fails as it should."]) as made, installed(bench, "aider") as ready:
        work = Work(method="aider[validation=tests]", instance_id="a__b-1", instance_key="k")
        allowed = AgentLimits(calls=8, seconds=600.0)
        back = send(agent_named("aider"), "Write a test.", ready, made.model(work), allowed, checks)
        asked = [served.spoken.messages[-1].text for served in made.provider.books]
    assert (back.ending, back.account.calls) == ((), 3)
    assert [change.after for change in back.changes] == [f"{TEST}\n\nMORE = 1\n"]
    assert "1 failed" in asked[1]
    assert "tests/test_issue.py" in asked[1]
