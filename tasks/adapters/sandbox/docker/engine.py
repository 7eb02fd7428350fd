"""Settings of the engine, base image and disk budget; the connection; conversion of errors."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tasks.domain.errors import BadInput, SandboxError

DEFAULT_BASE = "python:{version}-slim-bookworm"
DISK_GB = 40.0
CPUS = 2.0
TIMEOUT_S = 300
"""Time limit for one response of the engine: building a layer of a large environment takes a minute."""

API_VERSION = "1.40"
"""API of Docker 19.03, the oldest supported engine; Podman's service supports it too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerSettings:
    """Settings of containers."""

    base: str = DEFAULT_BASE
    """Base image of environments; `{version}` becomes the environment's minor version of Python."""
    disk_bytes: int = int(DISK_GB * 1e9)
    """Maximum size of our images together; beyond it, the least recently used are removed."""
    cpus: float = field(default_factory=lambda: min(CPUS, float(os.cpu_count() or 1)))
    """Processors that one container may use."""
    remote: str = ""
    """`host:port/path` from which our images are pulled before building; empty to build only."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """`DOCKER_HOST`, `DOCKER_TLS_VERIFY`, `DOCKER_CERT_PATH`."""

    @property
    def host(self) -> str:
        """Address of the engine."""
        return self.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"


def docker_settings(environ: Mapping[str, str]) -> DockerSettings:
    """Read settings from `SWT_DOCKER_BASE`, `SWT_DOCKER_DISK_GB`, `SWT_DOCKER_CPUS`,
    `SWT_DOCKER_REGISTRY`, `DOCKER_*`."""
    defaults = DockerSettings()
    return DockerSettings(
        base=environ.get("SWT_DOCKER_BASE") or defaults.base,
        disk_bytes=int(_positive(environ, "SWT_DOCKER_DISK_GB", DISK_GB) * 1e9),
        cpus=_positive(environ, "SWT_DOCKER_CPUS", defaults.cpus),
        remote=environ.get("SWT_DOCKER_REGISTRY", "").rstrip("/"),
        environ={name: value for name, value in environ.items() if name.startswith("DOCKER_")},
    )


@contextmanager
def connected(settings: DockerSettings) -> Iterator[Any]:
    """Yield a client of the engine's API. Converts every error of the engine to a `SandboxError`.

    Use one per run: its connections carry streams, and it is not thread-safe.
    """
    import docker
    import docker.errors
    import requests

    _knock(settings.host)
    try:
        given = docker.utils.kwargs_from_env(environment=dict(settings.environ))
        client = docker.APIClient(**given, version=API_VERSION, timeout=TIMEOUT_S)
        try:
            yield client
        finally:
            client.close()
    except requests.ConnectionError as problem:
        raise _no_engine(settings.host) from problem
    except (docker.errors.DockerException, requests.RequestException, OSError) as problem:
        raise SandboxError(f"docker: {_first_line(problem)}", hint="see `swt doctor`") from problem


def _knock(host: str) -> None:
    """Raise `SandboxError` if nothing listens at a local socket. The SDK gives no reason and leaves its socket open."""
    if not host.startswith("unix://"):
        return
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(host.removeprefix("unix://"))
        except PermissionError as problem:
            message = f"docker: this user may not use {host} (its group may)"
            raise SandboxError(message, hint="see `swt doctor`") from problem
        except OSError as problem:
            raise _no_engine(host) from problem


def _no_engine(host: str) -> SandboxError:
    message = f"docker: no engine answers at {host} (DOCKER_HOST says where else)"
    return SandboxError(message, hint="start an engine, or see `swt doctor`")


def _first_line(problem: BaseException) -> str:
    text = str(getattr(problem, "explanation", None) or problem).strip()
    return text.splitlines()[0] if text else type(problem).__name__


def _positive(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name) or str(default)
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise BadInput(f"{name} is {text!r}", hint="a number above zero")
    return value
