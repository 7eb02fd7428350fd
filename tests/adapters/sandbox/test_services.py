"""What runs beside tests: started before them on the sandbox's own loopback device, gone with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import PurePosixPath
from uuid import uuid4

from sandbox_bench import PYTHON, Bench

from tasks.adapters.runner.launch import SERVING, never_started
from tasks.adapters.runner.seal import SEAL, new_seal
from tasks.adapters.sandbox.base import Finished, Mount

ASK = """
import os, sys, urllib.request
import urllib.error
try:
    urllib.request.urlopen(os.environ["SHELF_URL"])
except urllib.error.HTTPError as answer:
    print(answer.code)
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child")
"""
SHELF = ("-ISm", "http.server", "{port}", "--bind", "127.0.0.1")


def serve(bench: Bench, *words: str, code: str = ASK) -> Finished:
    """A program beside a service that is started with `words`."""
    services = [{"argv": [PYTHON, *words], "env": {"SHELF_URL": "http://127.0.0.1:{port}/"}}]
    (bench.outbox / "services.json").write_text(json.dumps({"services": services}))
    mount = Mount(SERVING, PurePosixPath(SERVING))
    starter = (PYTHON, "-IS", str(SERVING / "swt_serve.py"), f"{bench.out()}/services.json")
    return bench.sandbox.run(bench.job(*starter, PYTHON, "-ISuc", code, mounts=(mount,)))


def test_a_service_answers_and_ends_with_the_tests(bench: Bench, alive: Callable, until: Callable) -> None:
    marker = f"/usr/../usr/{uuid4().hex}/.."
    done = serve(bench, *SHELF, "--directory", marker)
    assert done.exit_code == 0, bench.said()
    assert bench.said().splitlines()[-2:] == ["404", "no child"]
    until(lambda: not alive(marker))


def test_services_get_ports_of_their_own(bench: Bench) -> None:
    one = [{"argv": [PYTHON, *SHELF], "env": {name: "{port}"}} for name in ("FIRST", "SECOND")]
    (bench.outbox / "services.json").write_text(json.dumps({"services": one}))
    starter = (PYTHON, "-IS", str(SERVING / "swt_serve.py"), f"{bench.out()}/services.json")
    code = "import os; print(int(os.environ['SECOND']) - int(os.environ['FIRST']))"
    job = bench.job(*starter, PYTHON, "-ISuc", code, mounts=(Mount(SERVING, PurePosixPath(SERVING)),))
    assert bench.sandbox.run(job).exit_code == 0
    assert bench.said().splitlines()[-1] == "1"


def test_where_a_service_does_not_start_nothing_else_does(bench: Bench) -> None:
    seal = new_seal(bench.outbox)
    done = serve(bench, "-ISc", "raise SystemExit('no shelf today')")
    assert done.exit_code != 0
    assert "no shelf today" in bench.said()
    assert "a service did not start" in bench.said()
    assert never_started(bench.outbox, seal)


def test_a_seal_that_somebody_else_writes_says_nothing(bench: Bench) -> None:
    seal = new_seal(bench.outbox)
    (bench.outbox / SEAL).write_bytes(b"x")
    assert not never_started(bench.outbox, seal)
    (bench.outbox / SEAL).unlink()
    assert not never_started(bench.outbox, seal)
