"""An agent whose commands print clocks and temporary names, killed by SIGKILL at each of its calls: none is paid twice.

Each life may make one call that is paid for. It dies before it sends another, or while the command of the first is run.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from agent_bench import MODELS, PRICES
from desk import Desk

from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.domain.candidate import Candidate
from tasks.domain.generation import Generation
from tasks.domain.llm import CallStatus, LlmCall
from tests.fakes.scripted_provider.script import Step
from tests.fakes.scripted_provider.server import ScriptedProvider, text_step

HERE = Path(__file__).parent
GIT = "git -c user.name=n -c user.email=e"
COMMANDS = (
    "date +%s%N; mktemp ./test_XXXXXX.py | tee name",
    "date +%N > stamp; printf '\\0' >> stamp; echo \"STAMP = '$(head -c 9 stamp)'\" >> $(cat name); cat $(cat name)",
    f"date +%N; {GIT} stash -u -q && ls",
    f"date +%N; {GIT} stash pop -q; wc -c stamp; ls",
    "printf 'def test_issue():\\n    assert not STAMP\\n' >> $(cat name); date +%N; rm name stamp",
    "submit",
)
NURSERY = """
import os, signal, sys
sys.path[:0] = sys.argv[1:3]
from pathlib import Path
import openai
from desk import Desk
from tasks.adapters.clock import SystemClock
from tasks.adapters.llm.records.reply_cache import open_archive
from tasks.adapters.llm.router_factory import open_rate_limiter
from tasks.adapters.llm.catalogue.models import read_models
from tasks.adapters.llm.catalogue.prices import read_prices
from tasks.adapters.llm.records.row_maker import Stamp
from tasks.adapters.llm.secret import Secret
from tasks.adapters.llm.router import ModelRouter
from tasks.adapters.llm.transport.openai_http import OpenAIWire
from tasks.domain.llm import Work
from tasks.methods.replay_log import ReplayLog

folder, url, at, method = Path(sys.argv[3]), *sys.argv[4:7]
desk = Desk(folder, fresh=False)
paid = []

class MortalWire(OpenAIWire):
    def send(self, request, card):
        if at == "call" and paid:
            os.kill(os.getpid(), signal.SIGKILL)
        paid.append(1)
        return super().send(request, card)

class MortalLog(ReplayLog):
    def keep(self, name, asked, seen):
        if at == "command" and paid:
            os.kill(os.getpid(), signal.SIGKILL)
        super().keep(name, asked, seen)

import tasks.methods.replay_log
tasks.methods.replay_log.ReplayLog = MortalLog

def live():
    board = ModelRouter(
        archive=open_archive(desk.store, folder / "cache"), models=read_models(folder / "models.toml"),
        prices=read_prices(folder / "prices.toml"), wires={"p": MortalWire(url, Secret("sk-some-key"), timeout_s=30)},
        stamp=Stamp(project_version="test"), rate_limiter=open_rate_limiter(folder / "cache", SystemClock()),
    )
    board.recover()
    owner = Work(method=method, instance_id=desk.instance.instance_id, instance_key=desk.instance.instance_key)
    desk.generate(method, board.model("m-1", owner))

for life in range(20):
    pid = os.fork()
    if pid == 0:
        live()
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    print(status, flush=True)
    if status != 9:
        break
"""


def clockwatcher(call: ClientRequest) -> Step:
    said = sum(message.role == "assistant" for message in call.messages)
    return text_step(f"Go on.\n```bash\n{COMMANDS[said]}\n```")


def draws_and_judges(call: ClientRequest) -> Step:
    """The same test each time, whose failure holds a clock, and a verdict."""
    judged = "same_problem" in call.messages[-1].text
    return text_step('{"reason": "no", "same_problem": false}' if judged else TEST)


TEST = """edit tests/test_issue.py
insert at end
import time


def test_issue():
    assert time.time_ns() == 0
end edit
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Desk(tmp_path)
    (tmp_path / "models.toml").write_text(MODELS)
    (tmp_path / "prices.toml").write_text(PRICES)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(("at", "deaths"), [("never", 0), ("call", 5), ("command", 5)])
def test_an_agent_goes_on_where_it_was_killed(folder: Path, at: str, deaths: int) -> None:
    provider = ScriptedProvider(clockwatcher)
    assert lives(folder, provider, at, "agent") == [9] * deaths + [0]
    assert len(provider.books) == len(COMMANDS)
    name = provider.books[-1].spoken.messages[2].text.partition("./test_")[2][:9]
    stamp = provider.books[-1].spoken.messages[4].text.partition("STAMP = '")[2][:9]
    (candidate,) = (desk := Desk(folder, fresh=False)).store.read(Candidate)
    added = [line for line in candidate.patch.splitlines() if line.startswith("+")]
    assert added == [f"+++ b/test_{name}", f"+STAMP = '{stamp}'", "+def test_issue():", "+    assert not STAMP"]
    assert len(desk.store.read(LlmCall, status=CallStatus.ANSWERED)) == len(COMMANDS)
    assert desk.store.read(Generation)[0].calls == len(COMMANDS)
    assert list(desk.places.journals.iterdir()) == []


@pytest.mark.slow
def test_libro_is_told_the_same_failures_again(folder: Path) -> None:
    provider = ScriptedProvider(draws_and_judges)
    assert lives(folder, provider, "call", "libro") == [9] * 5 + [0]
    assert len(provider.books) == 6, "five samples, of which one had to be judged"


@pytest.mark.slow
def test_two_at_once_work_for_one(folder: Path) -> None:
    """Each would see clocks and names of its own, and so ask, and pay for, other questions."""
    provider = ScriptedProvider(lambda call: replace(clockwatcher(call), wait_s=0.2))
    with ThreadPoolExecutor(2) as pool, provider.serve() as url:
        ended = list(pool.map(lambda _: lived(folder, url, "never", "agent"), range(2)))
    assert ended == [[0], [0]]
    assert len(provider.books) == len(COMMANDS)
    store = Desk(folder, fresh=False).store
    assert len(store.read(Candidate)) == len(store.read(Generation)) == 1
    assert not list(store.disk.paths("claims")), "claims go with their work"


def lives(folder: Path, provider: ScriptedProvider, at: str, method: str) -> list[int]:
    """How the lives ended: by a signal's number, or 0."""
    with provider.serve() as url:
        return lived(folder, url, at, method)


def lived(folder: Path, url: str, at: str, method: str) -> list[int]:
    argv = [sys.executable, "-c", NURSERY, str(HERE), str(HERE.parents[1]), str(folder), url, at, method]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]
