"""Checks the contract of every method on three toy tasks with a scripted model.

    python -m tests.fakes.contract NAME

- it yields as many proposals as it says, numbered from 0, each once;
- a patch that it says applied does apply, exactly, to the base commit;
- it ends within its budget, whatever the model answers: prose, garbage, refusals, the same thing again and again, far
  too much, half a reply, tool calls that do not exist or are no JSON;
- a failure of the provider comes out of it as the error that it is, and is no proposal;
- the same replies give the same proposals.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tasks.adapters.llm.base import Finish, ModelQuestion, Reply, ToolCall
from tasks.adapters.llm.errors import ProviderFailed
from tasks.adapters.patch.apply import Applied, apply_to_files
from tasks.adapters.patch.model import Patch, Rung
from tasks.adapters.patch.read import read_patch
from tasks.adapters.workbench.base import Workbench
from tasks.domain.errors import SwtError
from tasks.domain.generation import Mode
from tasks.generate.registry import method_named
from tasks.methods.method import Method, MethodBudget, Proposal
from tests.fakes.scripted_model import Scripted, Step
from tests.fakes.toy_tasks import TOY_TASKS, ToyTask

BUDGET = MethodBudget(calls=20, context_tokens=4_000, reply_tokens=1_000, seconds=120.0)

HELPFUL = """The behaviour is easy to show. {"reason": "as reported", "same_problem": true}

edit tests/test_issue.py
insert at end
def test_issue():
    assert False, "the issue is there"
end edit

<file>tests/test_issue.py</file>
<original></original>
<patched>
def test_issue():
    assert False, "the issue is there"
</patched>

```diff
--- /dev/null
+++ b/tests/test_issue.py
@@ -0,0 +1,2 @@
+def test_issue():
+    assert False, "the issue is there"
```

```bash
mkdir -p tests && printf 'def test_issue():\\n    assert False\\n' | tee tests/test_issue.py reproduction_script.py
```

```python
raise AssertionError("the issue is there")
```
"""
"""An answer in every format at once: each method reads its own."""

Persona = Callable[[ModelQuestion], Step]


def _helpful(asked: ModelQuestion) -> Step:
    """Answers, and submits when it has been shown what a command printed."""
    return "```bash\nsubmit\n```\n" + HELPFUL if "Exit code:" in asked.last else HELPFUL


def _tools(asked: ModelQuestion) -> Step:
    """Calls tools that are not there, with arguments that are no JSON, as long as there are any."""
    if not asked.tools:
        return "There are no tools left."
    calls = (
        ToolCall(call_id="1", name="no_such_tool", arguments="{}"),
        ToolCall(call_id="2", name=asked.tools[0].name, arguments="{broken"),
        ToolCall(call_id="3", name=asked.tools[0].name, arguments='{"unknown": 1}'),
    )
    return Reply(text="", tool_calls=calls, finish_reason=Finish.TOOL_CALLS)


def _cut(_: ModelQuestion) -> Step:
    return Reply(text=HELPFUL[: len(HELPFUL) // 3], finish_reason=Finish.LENGTH)


PERSONAS: dict[str, Persona] = {
    "helpful": _helpful,
    "refuses": lambda _: "I am sorry, I cannot help with that.",
    "silent": lambda _: "",
    "garbage": lambda _: "```\x00\ufffd{{{[[ --- a/\n+++ b/\n@@ @@ edit\ndiff\nend diff </patched>```" * 20,
    "repeats": lambda _: "```bash\nls\n```",
    "endless": lambda _: "again and again " * 20_000,
    "cut": _cut,
    "climbs": lambda _: HELPFUL.replace("tests/test_issue.py", "../../outside.py"),
    "tools": _tools,
}


def check(method: Method, toys: tuple[ToyTask, ...] = TOY_TASKS) -> tuple[str, ...]:
    """What the method does not keep, one line each; empty for a method that may be used."""
    return tuple(problem for toy in toys for problem in _check_toy(method, toy))


def _check_toy(method: Method, toy: ToyTask) -> Iterator[str]:
    for persona in PERSONAS:
        yield from _tried(method, toy, persona, Mode.UNIT_TEST)
    yield from _tried(method, toy, "helpful", Mode.REPRODUCTION_SCRIPT)
    if problem := _hides_failures(method, toy):
        yield f"{method.name} on {toy.name}: {problem}"


def _tried(method: Method, toy: ToyTask, persona: str, mode: Mode) -> Iterator[str]:
    """The problems with one persona, each with where it was met."""
    where = f"{method.name} on {toy.name}, {persona}, {mode.value}"
    yield from (f"{where}: {problem}" for problem in _problems(method, toy, PERSONAS[persona], mode))


def _problems(method: Method, toy: ToyTask, script: Persona, mode: Mode) -> Iterator[str]:
    model = Scripted(script)
    with tempfile.TemporaryDirectory() as folder:
        made = _run(method, toy, model, mode, Path(folder))
        if isinstance(made, str):
            yield made
            return
        if [one.sample for one in made] != list(range(method.samples)):
            yield f"yields samples {[one.sample for one in made]}, not {method.samples} from 0"
        if len(model.asked) > BUDGET.calls * method.samples:
            yield f"asks {len(model.asked)} times, and the budget is {BUDGET.calls} for each sample"
        if (
            script is _helpful
            and mode is Mode.UNIT_TEST
            and made != _run(method, toy, Scripted(script), mode, Path(folder))
        ):
            yield "gives other proposals for the same replies"
        with toy.bench(Path(folder)) as bench:
            for proposal in made:
                yield from _misfits(proposal, bench)


def _run(method: Method, toy: ToyTask, model: Scripted, mode: Mode, folder: Path) -> list[Proposal] | str:
    """The proposals, or what the method threw."""
    assignment = replace(toy.assignment, mode=mode)
    try:
        with toy.bench(folder) as bench:
            return list(method.run(assignment, bench, model, BUDGET))
    except Exception as error:
        return f"throws {type(error).__name__}: {error}"


def _misfits(proposal: Proposal, bench: Workbench) -> Iterator[str]:
    """What a proposal says and is not so."""
    if not proposal.rung:
        return
    read = read_patch(proposal.patch)
    applied = apply_to_files(read, bench.base) if isinstance(read, Patch) else read
    if not isinstance(applied, Applied):
        yield f"sample {proposal.sample} says {proposal.rung}, and is refused: {applied.reason.value}"
    elif applied.rung is not Rung.EXACT:
        yield f"sample {proposal.sample} is not in normal form: it applies by {applied.rung.value}"


def _hides_failures(method: Method, toy: ToyTask) -> str:
    """Whether a provider that fails at once comes out as its error."""
    model = Scripted(lambda _: ProviderFailed("the provider answers 500", kind="server"))
    try:
        with tempfile.TemporaryDirectory() as folder, toy.bench(Path(folder)) as bench:
            made = list(method.run(toy.assignment, bench, model, BUDGET))
    except ProviderFailed:
        return ""
    except Exception as error:
        return f"turns a failure of the provider into {type(error).__name__}"
    return f"turns a failure of the provider into {len(made)} proposals"


def main(names: list[str]) -> int:
    """Check methods by name; 1 where one of them does not keep the contract."""
    problems: list[str] = []
    for name in names:
        try:
            problems += check(method_named(name))
        except SwtError as error:
            problems.append(f"{error} (hint: {error.hint})")
    print("\n".join(problems) or f"{', '.join(names)}: the contract is kept")
    return 1 if problems or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
