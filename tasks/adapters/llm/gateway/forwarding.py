"""How a command in a sandbox reaches the gateway, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tasks.adapters.llm.gateway.core import Issued
from tasks.adapters.sandbox.base import Mount
from tasks.domain.outcome import SandboxKind

FORWARDER = Path(__file__).parent / "inside" / "swt_forward.py"
GUEST_SOCKET = PurePosixPath("/swt/model.sock")
GUEST_FORWARDER = PurePosixPath("/swt/swt_forward.py")
PORT = 8377


@dataclass(frozen=True, slots=True, kw_only=True)
class Forwarding:
    """What a job needs for it. The sandbox stays without a network (`Job.network = False`)."""

    mounts: tuple[Mount, ...]
    prefix: tuple[str, ...]
    """Goes before the agent's argv."""
    url: str
    """The gateway as the agent sees it, without `/v1`."""


def forwarding(socket: Path, kind: SandboxKind, *, python: str, port: int = PORT) -> Forwarding:
    """For a gateway that listens at `socket`. `python` is any CPython from 3.6 on, as seen inside.

    The process sandbox shows everything at its own place; there, runs at the same time need ports of their own.
    """
    moved = kind is not SandboxKind.PROCESS
    seen_socket = GUEST_SOCKET if moved else PurePosixPath(socket)
    seen_script = GUEST_FORWARDER if moved else PurePosixPath(FORWARDER)
    return Forwarding(
        mounts=(Mount(socket, seen_socket), Mount(FORWARDER, seen_script)),
        prefix=(python, "-I", "-S", str(seen_script), str(seen_socket), str(port), "--"),
        url=f"http://127.0.0.1:{port}",
    )


def model_variables(url: str, issued: Issued) -> dict[str, str]:
    """The variables by which agents of all dialects find their model: the run token stands where a key would."""
    return {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_BASE": f"{url}/v1",
        "OPENAI_API_KEY": issued.token,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": issued.token,
    }
