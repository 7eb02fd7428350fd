"""Which engine, which base image, how much disk: settings, the connection, and errors in our own words."""

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
"""For one answer of the engine: building a layer of a large environment takes a minute."""

API_VERSION = "1.40"
"""Of Docker 19.03: the oldest engine that is spoken to; Podman's service speaks it too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerSettings:
    """How containers are made."""

    base: str = DEFAULT_BASE
    """Image that environments are put on; `{version}` becomes the environment's minor version of Python."""
    disk_bytes: int = int(DISK_GB * 1e9)
    """Our images together may take so much; beyond it the least recently used ones are removed."""
    cpus: float = field(default_factory=lambda: min(CPUS, float(os.cpu_count() or 1)))
    """Processors that one container may use."""
    remote: str = ""
    """`host:port/path` to pull our own images from before building them; empty to build."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """`DOCKER_HOST`, `DOCKER_TLS_VERIFY`, `DOCKER_CERT_PATH`."""

    @property
    def host(self) -> str:
        """Where the engine is."""
        return self.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"


def docker_settings(environ: Mapping[str, str]) -> DockerSettings:
    """Settings from `SWT_DOCKER_BASE`, `SWT_DOCKER_DISK_GB`, `SWT_DOCKER_CPUS`, `SWT_DOCKER_REGISTRY`, `DOCKER_*`."""
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
    """A client of the engine's API, closed at the end. Whatever the engine refuses becomes a `SandboxError`.

    One for each run: its connections carry streams, and it is not made to be shared by threads.
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
    """Whether somebody listens at a socket of this machine: the SDK neither says why not nor closes what it opened."""
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
