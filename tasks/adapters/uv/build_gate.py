"""The build gate: uv resolves, downloads and unpacks; every Python that uv starts runs in a sandbox without network.

uv itself runs no third-party code, but the interpreters that it starts do: `setup.py` and build backends of source
distributions and checkouts, and `.pth` files of inspected environments. uv therefore gets our interpreter
(`gates/<key>/bin/python3.9`): a script that sends the call to this process, which runs it in the sandbox.

Inside, a build sees private copies of its source tree and build environment, at the paths that uv names. The real
interpreter replaces the script, and nothing else of the host is visible. Afterwards the requested plain files are
copied out: wheels, metadata and uv's own answer files. uv then compares each wheel's name and version with the request,
so a build can store a wheel for its own project only.

uv's internal calls are not a documented interface: tests/adapters/uv/test_build_gate.py fails if they change.
"""

from __future__ import annotations

import json
import re
import shlex
import socketserver
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tasks.adapters.coordination.locks import atomic_write
from tasks.adapters.folders import remove
from tasks.adapters.sandbox.base import Job, Sandbox
from tasks.adapters.sandbox.scratch import spare_folder
from tasks.adapters.uv.build_call import COPIES, SETTINGS, SOURCE, BuildCall, CallFolders, copy_tree
from tasks.adapters.uv.inside import swt_gate_client
from tasks.adapters.uv.plan import Interpreter
from tasks.adapters.uv.process import NETWORK, PackageFailed, Tool, tool_failure, unbuilt
from tasks.domain.errors import InfrastructureError, SwtError
from tasks.domain.names import content_key
from tasks.domain.run import Limits

CLIENT = Path(swt_gate_client.__file__)
GATES = "gates"
NO_RESOLVER = re.compile(
    r"name resolution|Name or service not known|Could not resolve host|Network is unreachable|urlopen error"
    r"|Failed to establish a new connection|NewConnectionError",
)
MEMORY_MB = 6144
DISK_MB = 6144
PROCESSES = 256
STDOUT = "stdout"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildGate:
    """Runs the interpreters that uv starts."""

    sandbox: Sandbox
    scratch: Path
    """Folder for the private copies."""
    cache: Path
    """The product's cache; scripts are below `gates/`."""
    uv_cache: Path
    """The cache of the uv process."""
    interpreter: Interpreter

    @property
    def root(self) -> Path:
        """Prefix of the interpreter that uv sees; the sandbox mounts the real prefix here."""
        key = content_key("gate", str(self.interpreter.path), self.interpreter.version, self._script())
        return self.cache.absolute() / GATES / key

    @property
    def python(self) -> Path:
        """Value of uv's `--python`. If the sandbox does not isolate, this is the real interpreter, for trusted code."""
        if not self.sandbox.isolates:
            return self.interpreter.path
        path = self.root / "bin" / f"python{self.interpreter.minor}"
        if not path.is_file():
            with atomic_write(path) as half:
                half.write_text(self._script(), encoding="utf-8")
                half.chmod(0o755)
        return path

    def _script(self) -> str:
        argv = shlex.join((sys.executable, "-I", "-S", str(CLIENT)))
        return f'#!/bin/sh\nexec {argv} "$0" "$@"\n'

    def restore(self, environment: Path) -> None:
        """Make a virtual environment that uv created with `python` use the real interpreter."""
        if not self.sandbox.isolates:
            return
        link, settings = environment / "bin" / "python", environment / SETTINGS
        link.unlink()
        link.symlink_to(self.interpreter.path)
        text = settings.read_text(encoding="utf-8")
        settings.write_text(text.replace(str(self.python.parent), str(self.interpreter.path.parent)), encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedUv:
    """Runs uv, with every interpreter that it starts behind the gate."""

    tool: Tool
    gate: BuildGate

    @property
    def python(self) -> Path:
        """The interpreter to name in uv's options."""
        return self.gate.python

    def run(
        self,
        *args: str,
        stdin: str = "",
        build_env: tuple[str, ...] = (),
        source: Path | None = None,
        output: Path | None = None,
        hint: str = "",
    ) -> str:
        """Return the standard output of `uv args…`; `build_env` are `NAME=value` pairs that builds see.

        `source` is a checkout to build, `output` the folder for its wheel, both resolved.

        Raises `BuildFailed` if a package does not build or is not available, `InfrastructureError` if a retry may help.
        """
        if not self.gate.sandbox.isolates:
            return self.tool.run(*args, stdin=stdin, extra_env=build_env, hint=hint)
        with _session(self.gate, build_env, source, output, self.tool.timeout_s) as session:
            variable = f"{swt_gate_client.ADDRESS}={session.address}"
            try:
                return self.tool.run(*args, stdin=stdin, extra_env=(variable,), hint=hint, failure=session.failure)
            finally:
                session.raise_own_failure()


def gated_uv(tool: Tool, *, sandbox: Sandbox, scratch: Path, cache: Path, interpreter: Interpreter) -> GatedUv:
    """Return `tool`, a uv whose environment variables name its cache, behind a gate for one interpreter."""
    uv_cache = Path(tool.environ["UV_CACHE_DIR"]).resolve()  # as the processes that uv starts see it
    gate = BuildGate(sandbox=sandbox, scratch=scratch, cache=cache, uv_cache=uv_cache, interpreter=interpreter)
    return GatedUv(tool=replace(tool, environ={**tool.environ, "UV_CACHE_DIR": str(uv_cache)}), gate=gate)


@dataclass(slots=True, kw_only=True)
class _Session:
    """One command of uv: a socket that accepts calls, and the copies that its builds use."""

    gate: BuildGate
    folder: Path
    address: Path
    folders: CallFolders
    deadline: float
    own_failure: InfrastructureError | None = None
    wanted_network: bool = False
    """Whether a failed build reported a network error."""
    sources: dict[Path, Path] = field(default_factory=dict)
    """Source tree → folder with its private copy, shared by later calls of the same build."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def failure(self, what: str, output: str, hint: str) -> SwtError:
        """Return the error for a failed uv command. A build that needs the network would fail again, so it is not
        retried."""
        if not self.wanted_network:
            return tool_failure(what, output, hint)
        message = f"{what} failed: a build asks for the network, and builds have none here"
        return PackageFailed(
            message, unbuilt(output), hint="install what it downloads, or drop the package in a recipe"
        )

    def raise_own_failure(self) -> None:
        """Raise the sandbox's own failure: an infrastructure error, however uv reported it."""
        if self.own_failure:
            raise self.own_failure

    def answer(self, request: dict[str, Any]) -> dict[str, object]:
        """Run one call of an interpreter in the sandbox; return its exit code, standard output and standard error."""
        try:
            return self._run(BuildCall.read(request, self.folders))
        except InfrastructureError as error:
            self.own_failure = error
        except (OSError, ValueError) as error:
            self.own_failure = InfrastructureError(f"the build gate failed: {error}", hint="free some disk; try again")
        return {"exit_code": 1, "stdout": "", "stderr": f"the build gate failed: {self.own_failure}\n"}

    def _run(self, call: BuildCall) -> dict[str, object]:
        work = self._work(call)
        checkout, outbox, log = work / "checkout", work / "outbox", work / "log"
        remove(outbox)
        outbox.mkdir()
        seen = self.gate.sandbox.guest(outbox / STDOUT, checkout=checkout, outbox=outbox)
        job = Job(
            argv=("/bin/sh", "-c", f'cd "$0" && exec "$@" >{seen}', str(call.source or "/"), *call.argv),
            checkout=checkout,
            outbox=outbox,
            env=call.env,
            mounts=tuple(call.mounts(checkout)),
            limits=self._limits(),
            log=log,
            python=self.gate.interpreter.minor,
        )
        finished = self.gate.sandbox.run(job)
        code, said = finished.exit_code, log.read_text(encoding="utf-8", errors="replace")
        if code == 0:
            too_much = call.bring_back(checkout)
            code, said = (1, said + too_much) if too_much else (0, said)
        elif code is None:
            limit = finished.limit or f"time, {job.limits.wall_s:.0f} s,"
            said += f"\nthe build passed the limit of {limit} and was ended\n"
        else:
            self.wanted_network |= bool(NETWORK.search(said) or NO_RESOLVER.search(said))
        return {"exit_code": 1 if code is None else code, "stdout": _text(outbox / STDOUT), "stderr": said}

    def _limits(self) -> Limits:
        left = max(1.0, self.deadline - time.monotonic())
        return Limits(wall_s=left, memory_mb=MEMORY_MB, processes=PROCESSES, disk_mb=DISK_MB, log_mb=8)

    def _work(self, call: BuildCall) -> Path:
        """Return the folder of a call. Calls of one build share the copy of its source tree; the rest is recreated."""
        with self.lock:
            known = self.sources.get(call.source) if call.source else None
            work = known or Path(tempfile.mkdtemp(dir=self.folder))
            if call.source:
                self.sources[call.source] = work
        checkout = work / "checkout"
        checkout.mkdir(exist_ok=True)
        if call.source and known is None:
            copy_tree(call.source, checkout / SOURCE)
        remove(checkout / COPIES)
        (checkout / COPIES).mkdir()
        for at, (path, content) in enumerate(call.copies.items()):
            content.fill(path, checkout / COPIES / str(at))
        return work


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


@contextmanager
def _session(
    gate: BuildGate, build_env: tuple[str, ...], source: Path | None, output: Path | None, timeout_s: float
) -> Iterator[_Session]:
    """Listen while the block runs. The socket is in a folder that only this user may enter."""
    with tempfile.TemporaryDirectory(prefix="swt-gate-") as place, spare_folder(gate.scratch) as folder:
        session = _Session(
            gate=gate,
            folder=folder,
            address=Path(place) / "socket",
            folders=CallFolders(
                interpreter=gate.interpreter,
                gate_root=gate.root,
                uv_cache=gate.uv_cache,
                source=source,
                output=output,
                build_env=build_env,
            ),
            deadline=time.monotonic() + timeout_s,
        )
        with _Server(session) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
            thread.start()
            try:
                yield session
            finally:
                server.shutdown()
                thread.join()


class _Server(socketserver.ThreadingUnixStreamServer):
    """One thread per call: uv builds several packages concurrently."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, session: _Session) -> None:
        self.session = session
        super().__init__(str(session.address), _Handler)


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Server)
        request = json.loads(self.rfile.read())
        self.wfile.write(json.dumps(self.server.session.answer(request)).encode("ascii"))
