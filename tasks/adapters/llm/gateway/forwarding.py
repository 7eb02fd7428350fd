"""Lets a command in a sandbox reach the gateway, and nothing else."""

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
    """Settings of a job that uses the gateway. The sandbox has no network (`Job.network = False`)."""

    mounts: tuple[Mount, ...]
    prefix: tuple[str, ...]
    """Prefix of the agent's argv."""
    url: str
    """URL of the gateway as the agent sees it, without `/v1`."""


def forwarding(socket: Path, kind: SandboxKind, *, python: str, port: int = PORT) -> Forwarding:
    """Return the settings for a gateway at `socket`. `python` is any CPython from 3.6 on, as seen in the sandbox.

    The process sandbox shows the host's paths; there, concurrent runs need different ports.
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
    """Return the environment variables that configure the model for agents of all dialects, with the token as key."""
    return {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_BASE": f"{url}/v1",
        "OPENAI_API_KEY": issued.token,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": issued.token,
    }
