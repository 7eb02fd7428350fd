"""A tiny agent that is a real program: it runs what its model says, as Python, until that is `stop`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tasks.adapters.agents.base import Agent, AgentTask, Launch, PythonKit
from tasks.adapters.agents.install import ROW, place
from tasks.adapters.clock import SystemClock
from tasks.adapters.llm.catalogue.models import read_models
from tasks.adapters.llm.catalogue.prices import read_prices
from tasks.adapters.llm.limits.retries import CallRetries
from tasks.adapters.llm.records.reply_cache import open_archive
from tasks.adapters.llm.records.row_maker import Stamp
from tasks.adapters.llm.router import ModelRouter, RoutedModel
from tasks.adapters.llm.router_factory import open_rate_limiter
from tasks.adapters.llm.secret import Secret
from tasks.adapters.llm.transport.openai_http import OpenAIWire
from tasks.adapters.store.tables.store import Store
from tasks.adapters.workbench.local import LocalWorkbench
from tasks.domain.llm import Work
from tests.fakes.scripted_provider.script import ListScript, Script, Step
from tests.fakes.scripted_provider.server import ScriptedProvider, text_step
from tests.fakes.toy_tasks import TOY_TASKS

KEY = "sk-real-key-that-nobody-may-see"
MODEL = "m-1"
MODELS = (
    '[provider.p]\nbase_url = "http://127.0.0.1:9/v1"\n[model.m-1]\nprovider = "p"\nprice = "m"\nsource = "a test"\n'
)
PRICES = (
    'checked = 2026-01-01\n[[price]]\nkey = "m"\nvalid_from = 2020-01-01\ninput = 1.0\noutput = 2.0\ncached = 0.5\n'
    'source = "a test"\n'
)
PROGRAM = """
import json, os, subprocess, sys, urllib.error, urllib.request

head = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
history = [{"role": "user", "content": open(sys.argv[1]).read()}]
while True:
    body = json.dumps({"model": "any", "messages": history}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, head)
    try:
        said = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as error:
        sys.exit("my model says " + str(error.code))
    if said == "stop":
        break
    code = said.removeprefix("```python\\n").removesuffix("```")
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    history += [{"role": "assistant", "content": said}, {"role": "user", "content": ran.stdout + ran.stderr}]
"""


def launch(errand: AgentTask) -> Launch:
    argv = (*errand.python, str(errand.root / "walker.py"), f"{errand.outbox}/prompt.md")
    return Launch(argv=argv, files={"prompt.md": errand.prompt})


def stillborn(errand: AgentTask) -> Launch:
    return Launch(argv=(*errand.python, "-c", "import sys; sys.exit('no such setting')"))


WALKER = Agent(
    name="walker",
    summary="does what its model says",
    kit=PythonKit(requirements=("walker==1",)),
    dialect="chat",
    launch=launch,
    leftovers=(".walker*",),
    advice="Reply with Python, or stop.",
)
STILLBORN = replace(WALKER, launch=stillborn)


def put(folder: Path, agent: Agent = WALKER) -> Path:
    """The agent as its installer would have left it, on the interpreter of this process."""
    root = place(folder, agent)
    for part in ("bin", f"lib/python3.{sys.version_info.minor}/site-packages"):
        (root / part).mkdir(parents=True)
    (root / "bin" / "python").symlink_to(Path(sys.base_prefix).resolve() / "bin" / f"python3.{sys.version_info.minor}")
    (root / "walker.py").write_text(PROGRAM)
    (root / ROW).write_text(json.dumps({"name": agent.name, "lock": ["walker==1"], "seconds": 0.5}))
    return root


@dataclass
class Office:
    """A provider that speaks from a script, and everything of ours before it."""

    folder: Path
    provider: ScriptedProvider
    board: ModelRouter = field(repr=False)

    @property
    def store(self) -> Store:
        return Store(str(self.folder / "store"))

    def model(self, work: Work | None = None) -> RoutedModel:
        given = work or Work(method="walker", instance_id="toys__counting-1", instance_key="k1")
        model = self.board.model(MODEL, given)
        assert isinstance(model, RoutedModel)
        return model


@contextmanager
def office(folder: Path, script: Script | list[str | Step]) -> Iterator[Office]:
    if isinstance(script, list):
        script = ListScript(tuple(text_step(one) if isinstance(one, str) else one for one in script))
    provider = ScriptedProvider(script, key=KEY)
    (folder / "models.toml").write_text(MODELS)
    (folder / "prices.toml").write_text(PRICES)
    with provider.serve() as url:
        board = ModelRouter(
            archive=open_archive(Store(str(folder / "store")), folder / "cache"),
            models=read_models(folder / "models.toml"),
            prices=read_prices(folder / "prices.toml"),
            wires={"p": OpenAIWire(url, Secret(KEY), timeout_s=10)},
            stamp=Stamp(project_version="test"),
            rate_limiter=open_rate_limiter(folder / "cache", SystemClock()),
            patience=CallRetries(attempts=1),
        )
        try:
            yield Office(folder, provider, board)
        finally:
            board.close()


def toy_bench(folder: Path) -> LocalWorkbench:
    """The first toy, in the sandbox that isolates nothing, with the agents below `folder`."""
    supplies = TOY_TASKS[0].bench(folder / "scratch").supplies
    return LocalWorkbench(replace(supplies, agents=folder / "agents"))
