"""Does a sweep cost what its dry run says? Every method that runs here, with a model that is brief and one that is not.

    python -m benchmarks.dry_run --agents data/cache/agents

The demo project and the scripted provider, which counts four characters for a token, tells what it has in its cache,
and knows two models: one answers at once, in few words; the other looks around as long as it may, and says as much as
it may. Each cell has a store of its own, so nothing follows from history. Agents are tried where they are installed.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.demo_warehouse import demo_warehouse
from flows.demo import SNAPSHOT
from flows.interface.pipelines import run_flow
from flows.interface.requests import GenerateRequest
from flows.interface.settings import Settings
from tasks.adapters.agents.catalogue import AGENTS
from tasks.adapters.agents.install import ready
from tasks.adapters.agents.mini_swe_agent import SUBMIT
from tasks.adapters.llm.base import Finish, Reply, ToolCall, Usage
from tasks.adapters.llm.dialects.messages import tokens_of
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import NotFound
from tasks.domain.llm import LlmCall
from tasks.generate.registry import OURS
from tests.fakes.contract import HELPFUL
from tests.fakes.scripted_provider.script import Step
from tests.fakes.scripted_provider.server import ScriptedProvider

INSTANCES = ("rolling-swt-bench__larder-3", "rolling-swt-bench__larder-7")
VARIANTS = ("libro[filter=off]", "zero_shot_plus[context=agent]", "auto_code_rover[tools=text]")
CARD = """
[provider.bench]
base_url = "{url}"
[model.bench]
provider = "bench"
price = "bench"
context = 128000
output = 16384
source = "the benchmark"
[[price]]
key = "bench"
valid_from = 2020-01-01
input = 2.0
output = 8.0
cached = 0.5
source = "the benchmark"
"""
ROUNDS = 12
"""For which the model that is not brief looks around, where it is asked again."""
WORDS = "It may be so, or it may be otherwise, and this has to be said as well. "
TEST = "def test_issue():\n    assert False\n"
EDIT = f"tests/test_issue.py\n```python\n<<<<<<< SEARCH\n=======\n{TEST}>>>>>>> REPLACE\n```\n"
SEARCHES = '```search\nsearch_method("scaled")\n```'
LOOK = "```bash\nls -R; git log --stat\n```"


@dataclass(frozen=True, slots=True)
class Talker:
    """A model with manners. What it was told before is in its provider's cache."""

    brief: bool

    def __call__(self, call: ClientRequest) -> Step:
        text, tool = self._answer(call)
        if not self.brief and tool is None:
            text = text + "\n" + WORDS * 2_000
        text = text[: 4 * (call.max_tokens or 4_096) - 8]
        calls = () if tool is None else (tool,)
        sent = tokens_of(call)
        usage = Usage(prompt=sent, completion=len(text) // 4 + 50 * len(calls) + 1, cached=sent * 9 // 10)
        finish = Finish.TOOL_CALLS if calls else Finish.STOP
        return Step(reply=Reply(text=text, tool_calls=calls, usage=usage, finish_reason=finish))

    def _answer(self, call: ClientRequest) -> tuple[str, ToolCall | None]:
        asked = [message.text for message in call.messages]
        said = sum(message.role == "assistant" for message in call.messages)
        looking = not self.brief and said < ROUNDS
        names = {tool.name for tool in call.tools}
        if found := _located(asked):
            return found, None
        if "search_code" in names:
            return ("", _call(said, "search_code", code=f"def {chr(ord('a') + said)}")) if looking else ("Done.", None)
        if "submit" in names:
            return "", _call(said, "bash", command="ls -R") if looking else _call(said, "submit")
        if "bash" in names:
            return "", _call(said, "bash", command="ls -R" if looking else SUBMIT)
        if "```search" in asked[0]:
            return (SEARCHES if looking else "Done."), None
        if "Exit code:" in asked[-1] or "marked bash" in asked[0] or "```bash" in asked[0]:
            return (LOOK if looking else "```bash\nsubmit\n```"), None
        return ("Done." if names else EDIT if "SEARCH" in asked[0] else HELPFUL), None


def _located(asked: list[str]) -> str:
    """What the localization agent asks for; empty where nothing of it is asked."""
    if "four keys" in asked[-1]:
        return json.dumps({"explanation": "scaling", "code": ["scaled"], "errors": [], "paths": []})
    if "extract_relevant()" in asked[-1]:
        return json.dumps({"function_call": "extract_relevant", "args": {}})
    if "get_bm25_top10" in asked[-1]:
        return json.dumps({"function_call": "get_bm25_top10", "args": {}})
    ranked = json.dumps({"ranked_files": ["larder/recipe.py"], "confidence_scores": [9]})
    return ranked if "ranked_files" in asked[-1] else ""


def _call(number: int, name: str, **arguments: str) -> ToolCall:
    return ToolCall(call_id=f"call_{number}", name=name, arguments=json.dumps(arguments))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was said beforehand, and what it was."""

    low: float | None
    high: float | None
    calls: int
    actual: float
    left: int

    @property
    def within(self) -> bool:
        known = self.low is not None and self.high is not None
        return known and not self.left and self.calls > 0 and self.low <= self.actual <= self.high  # type: ignore[operator]


def tried(label: str, settings: Settings) -> Outcome:
    """The dry run, and then the sweep."""
    method, _, params = label.partition("[")
    request = GenerateRequest(
        snapshot=SNAPSHOT,
        methods=(method,),
        models=("bench",),
        instances=INSTANCES,
        param=tuple(filter(None, params.removesuffix("]").split(","))),
    )
    plan = run_flow(replace(request, dry_run=True), settings)
    low, high = (_sum([getattr(row, bound) for row in plan.rows]) for bound in ("usd_low", "usd_high"))
    done = run_flow(request, settings)
    costs = [row.cost_usd for row in Store(settings.store).read(LlmCall)]
    return Outcome(low, high, len(costs), _sum(costs) or 0.0, done.left)


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def installed(agents: Path | None) -> list[str]:
    """The agents that are there."""
    found = []
    for agent in AGENTS if agents else ():
        try:
            ready(agents, agent)
        except NotFound:
            continue
        found.append(agent.name)
    return found


def main(
    agents: Annotated[Path | None, typer.Option(help="Folder with installed agents.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only these names; may be repeated.")] = None,
) -> None:
    """Print a line for each method, and how many of them cost what was said."""
    names = [*(method.name for method in OURS), *VARIANTS, *installed(agents)]
    names = [name for name in names if not only or name in only]
    print("| method | model | at least | cost | at most | calls | within |")
    print("| --- | --- | --: | --: | --: | --: | --- |", flush=True)
    good = 0
    for name in names:
        held = []
        for brief in (True, False):
            with demo_warehouse(ScriptedProvider(Talker(brief)), lambda url: CARD.format(url=url), agents) as settings:
                one = tried(name, settings)
            held.append(one.within)
            said = "yes" if one.within else f"left {one.left}" if one.left else "no"
            row = (f"`{name}`", "brief" if brief else "wordy", one.low, round(one.actual, 4), one.high, one.calls, said)
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
        good += all(held)
    print(f"\n{good} of {len(names)} methods cost what the dry run says, with either model")
    sys.exit(good < len(names))


if __name__ == "__main__":
    typer.run(main)
