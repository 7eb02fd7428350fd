"""Do real agents' calls reach the provider as they made them? Thinking, encrypted reasoning and cache markers included.

    python -m benchmarks.pass_through --agents data/cache/agents claude_code codex mini_swe_agent

Each agent is sent out on one of the demo's instances in the bubblewrap sandbox, in its own dialect, which is the
provider's. The scripted model thinks aloud and signs it (`messages`), reasons in secret (`responses`), adds
`reasoning_content` (`chat`), and has a test written by the agent's shell. What the agent said to the gateway is held
against what arrived at the provider, call by call and parameter by parameter, as canonical JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from benchmarks.agent_shells import ShellCall, next_command, turn_of
from benchmarks.demo_warehouse import demo_warehouse
from flows.demo import SNAPSHOT
from flows.interface.parameters import GenerateRequest
from flows.sweep import sweep_here
from tasks.adapters.agents import running
from tasks.adapters.agents.catalogue import agent_named
from tasks.adapters.llm.dialects.spoken import ClientRequest, SpokenAnswer
from tasks.adapters.llm.gateway.core import Gateway
from tasks.adapters.llm.gateway.grant import GrantedRun
from tasks.adapters.store.rows.store import Store
from tasks.domain.llm import CallStatus, LlmCall
from tasks.rehearsal.passing import held, values
from tasks.rehearsal.scripted_provider.script import Step
from tasks.rehearsal.scripted_provider.server import ScriptedProvider

INSTANCE = "rolling-swt-bench__larder-3"
CARD = """
[provider.bench]
base_url = "{url}"
dialect = "{dialect}"
[model.bench]
provider = "bench"
price = "bench"
context = 200000
output = 64000
source = "the benchmark"
[[price]]
key = "bench"
valid_from = 2020-01-01
input = 3.0
output = 15.0
cached = 0.3
written = 3.75
written_for_long = 6.0
source = "the benchmark"
"""
SPECIAL = ("signature", "encrypted_content", "reasoning_content", "cache_control")
"""What only the provider and its own clients understand."""
SAID: list[Mapping[str, Any]] = []
"""Bodies of calls as they came to the gateway."""


class Watched(Gateway):
    """A gateway that keeps what it is told."""

    def call(self, run: GrantedRun, dialect: ModuleType, spoken: ClientRequest) -> SpokenAnswer:
        SAID.append(spoken.body)
        return super().call(run, dialect, spoken)


def script(call: ClientRequest) -> Step:
    """Looks, writes the test, ends; each time with something that has to come back."""
    turn, command = turn_of(call), next_command(call)
    if "input" in call.body:
        return Step(body=_responses(turn, command))
    return Step(body=_messages(turn, command) if "system" in call.body else _chat(turn, command))


def _chat(turn: int, command: ShellCall | None) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": "Done.", "reasoning_content": f"thought {turn}"}
    if command:
        called = {"name": command.name, "arguments": json.dumps(command.arguments)}
        said |= {"content": None, "tool_calls": [{"id": f"c{turn}", "type": "function", "function": called}]}
    usage = {"prompt_tokens": 2000, "completion_tokens": 20, "total_tokens": 2020}
    choice = {"index": 0, "message": said, "finish_reason": "tool_calls" if command else "stop"}
    return {"choices": [choice], "usage": usage | {"prompt_tokens_details": {"cached_tokens": 1500}}}


def _messages(turn: int, command: ShellCall | None) -> dict[str, Any]:
    thought = {"type": "thinking", "thinking": f"thought {turn}", "signature": f"EqQBCkYIBxgCKkD/+{turn}=="}
    last: dict[str, Any] = {"type": "text", "text": "Done."}
    if command:
        last = {"type": "tool_use", "id": f"toolu_{turn}", "name": command.name, "input": command.arguments}
    usage = {"input_tokens": 100, "cache_read_input_tokens": 1500, "cache_creation_input_tokens": 400}
    return {
        "content": [thought, last],
        "stop_reason": "tool_use" if command else "end_turn",
        "usage": usage | {"output_tokens": 20},
    }


def _responses(turn: int, command: ShellCall | None) -> dict[str, Any]:
    reasoned = {"type": "reasoning", "id": f"rs_{turn}", "summary": [], "encrypted_content": f"gAAAAABo+/{turn}=="}
    words = {"type": "output_text", "text": "Done.", "annotations": [], "logprobs": []}
    said = {"type": "message", "id": f"msg_{turn}", "status": "completed", "role": "assistant", "content": [words]}
    if command:
        said = {"type": "function_call", "id": f"fc_{turn}", "call_id": f"call_{turn}", "status": "completed"}
        said |= {"name": command.name, "arguments": json.dumps(command.arguments)}
    usage = {"input_tokens": 2000, "input_tokens_details": {"cached_tokens": 1500}, "output_tokens": 20}
    details = {"output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": 2020}
    return {"output": [reasoned, said], "usage": usage | details}


def tried(name: str, agents: Path) -> tuple[tuple[object, ...], bool]:
    """A row of the table, and whether all that may pass did."""
    SAID.clear()
    dialect, provider = agent_named(name).dialect, ScriptedProvider(script)
    with demo_warehouse(provider, lambda url: CARD.format(url=url, dialect=dialect), agents) as settings:
        request = GenerateRequest(snapshot=SNAPSHOT, methods=(name,), models=("bench",), instances=(INSTANCE,))
        done = sweep_here(request, settings)
        rows = Store(settings.store).read(LlmCall, status=CallStatus.ANSWERED)
    arrived = [served.spoken.body for served in provider.books]
    passed = [held(one, other) for one, other in zip(SAID, arrived, strict=True)]
    left_out = sorted({word for one in passed for word in one.left_out})
    changed = sorted({word for one in passed for word in one.changed} - {"model"})
    added = sorted({word for one in passed for word in one.added})
    special = {word: [len(list(values(bodies, word))) for bodies in (SAID, arrived)] for word in SPECIAL}
    cached = sum(row.tokens_cached or 0 for row in rows)
    cost = sum(row.cost_usd or 0.0 for row in rows)
    known = all(row.cost_usd is not None for row in rows)
    equal = all(said == came for said, came in special.values())
    carried = ", ".join(f"{word} {came} of {said}" for word, (said, came) in special.items() if said)
    sums = (len(SAID), sum(one.size for one in passed), carried)
    lists = tuple(", ".join(words) or "–" for words in (changed, added, left_out))
    row = (f"`{name}`", dialect, *sums, *lists, cached, f"{cost:.6f}" if known else "unknown", done.left)
    return row, equal and known and not done.left and len(SAID) > 1


HEAD = "| agent | dialect | calls | bytes equal | arrived | changed | added | left out | cached | cost | left |"


def main(
    names: Annotated[list[str], typer.Argument(help="Agents that are installed.")],
    agents: Annotated[Path, typer.Option(help="Folder with installed agents.")],
) -> None:
    """Print a line for each agent."""
    running.Gateway = Watched  # type: ignore[attr-defined]  # nothing else sees a call as the agent made it
    print(f"{HEAD}\n|{' --- |' * (HEAD.count('|') - 1)}", flush=True)
    good = []
    for name in names:
        row, held_good = tried(name, agents)
        good.append(held_good)
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
    sys.exit(not all(good))


if __name__ == "__main__":
    typer.run(main)
