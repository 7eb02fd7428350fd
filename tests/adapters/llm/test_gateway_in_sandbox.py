"""An agent without a network reaches its model, and nothing else. For every kind of sandbox that works here."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap
from functools import cache
from pathlib import Path, PurePosixPath

import pytest
from llm_bench import KEY, MODEL, Benches, work

from tasks.adapters.llm.gateway.core import Gateway
from tasks.adapters.llm.gateway.forwarding import FORWARDER, forwarding, model_variables
from tasks.adapters.llm.gateway.grant import Grant
from tasks.adapters.llm.gateway.server import listening
from tasks.adapters.sandbox.base import Job, Mount
from tasks.adapters.sandbox.select import ENTRIES, SandboxEntry
from tasks.domain.run import Limits
from tests.fakes.scripted_provider.server import text_step

PREFIX = Path(sys.base_prefix).resolve()
PYTHON = str(PREFIX / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")
AGENT = """
import json, os, socket, sys, urllib.request
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
body = {"model": "m-1", "messages": [{"role": "user", "content": "x" * 300_000}], "stream": True}
head = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
for _ in range(3):
    answer = urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), head)).read().decode()
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=2)
    outside = "reached"
except OSError as error:
    outside = "unreachable"
seen = {"answer": answer, "outside": outside, "env": dict(os.environ)}
json.dump(seen, open(os.environ["OUT"], "w"))
sys.exit(7)
"""
why_not = cache(lambda entry: entry.why_not())
KINDS = [
    pytest.param(entry, id=str(entry.kind), marks=[getattr(pytest.mark, str(entry.kind))] if entry.isolating else [])
    for entry in ENTRIES
]


@pytest.mark.parametrize("entry", KINDS)
def test_the_model_is_all_that_can_be_reached(entry: SandboxEntry, bench: Benches, tmp_path: Path) -> None:
    if reason := why_not(entry):
        pytest.skip(f"{entry.kind}: {reason}")
    made = bench(lambda call: text_step("hello " * 20_000))
    gateway = Gateway(made.board(), tmp_path / "under-way")
    sandbox = entry.make(Path(tempfile.gettempdir()))
    checkout, outbox = tmp_path / "checkout", tmp_path / "outbox"
    for folder in (checkout, outbox):
        folder.mkdir()
    (checkout / "agent.py").write_text(textwrap.dedent(AGENT))
    with tempfile.TemporaryDirectory() as short, listening(gateway, Path(short)) as at:
        issued = gateway.issue(Grant(work=work("agent"), model=MODEL))
        way = forwarding(at, entry.kind, python=PYTHON)
        out = sandbox.guest(outbox / "seen.json", checkout=checkout, outbox=outbox)
        job = Job(
            argv=(*way.prefix, PYTHON, "-ISu", "agent.py", made.base_url.rpartition(":")[2].partition("/")[0]),
            checkout=checkout,
            outbox=outbox,
            env=model_variables(way.url, issued) | {"OUT": str(out)},
            mounts=(Mount(PREFIX, PurePosixPath(PREFIX)), *way.mounts),
            limits=Limits(wall_s=60),
            log=tmp_path / "log",
        )
        done = sandbox.run(job)
    assert done.exit_code == 7, (tmp_path / "log").read_text()
    seen = json.loads((outbox / "seen.json").read_text())
    assert seen["answer"].count("hello") == 20_000
    assert seen["answer"].endswith("data: [DONE]\n\n")
    assert seen["outside"] == ("unreachable" if entry.isolating else "reached")
    assert KEY not in json.dumps(seen) + (tmp_path / "log").read_text()
    assert gateway.finish(issued).calls == 3


def test_the_forwarder_says_what_is_wrong(tmp_path: Path) -> None:
    argv = [sys.executable, "-I", "-S", str(FORWARDER)]
    code = "import urllib.request as u; u.urlopen('http://127.0.0.1:8391/')"
    done = subprocess.run(
        [*argv, str(tmp_path / "no.sock"), "8391", "--", sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "no gateway at" in done.stderr) == (1, True)
    done = subprocess.run([*argv, "a", "8392", "--"], capture_output=True, text=True, check=False)
    assert "usage" in done.stderr
    killed = subprocess.run([*argv, "a", "8392", "--", "sh", "-c", "kill -9 $$"], capture_output=True, check=False)
    assert killed.returncode == 137
