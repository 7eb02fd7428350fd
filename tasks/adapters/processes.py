"""Every place of the product that starts a process: what runs there, where, with which network and variables.

An architecture test compares this list with the source, and docs/operating.md shows it, so a new start of a process
needs a row here. Third-party code (builds, tests, agents, and what debuggers and services run) is started by
`Sandbox.run` alone.
"""

from __future__ import annotations

from dataclasses import dataclass

SANDBOX = "in the sandbox"
HOST = "on the host"
NO_NETWORK = "none"
ALLOWED = "allow-listed (`tool_environment`)"
GIVEN = "only what the job names; private HOME"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStart:
    """One module that starts processes."""

    module: str
    """Path of the file."""
    runs: str
    third_party: bool
    """Whether code of a repository, a package or an agent runs there."""
    where: str
    network: str
    environment: str


STARTS = (
    ProcessStart(
        module="tasks/adapters/uv/build_gate.py",
        runs="builds: `setup.py`, build backends, source distributions, metadata",
        third_party=True,
        where=SANDBOX,
        network=NO_NETWORK,
        environment="`PATH`, `VIRTUAL_ENV` and the recipe's `build_env`; private HOME",
    ),
    ProcessStart(
        module="tasks/adapters/extensions/build.py",
        runs="compilers of extension modules, with the project's build commands",
        third_party=True,
        where=SANDBOX,
        network=NO_NETWORK,
        environment=GIVEN,
    ),
    ProcessStart(
        module="tasks/adapters/runner/launch.py",
        runs="tests, and the services beside them",
        third_party=True,
        where=SANDBOX,
        network="none; one validation run that asks whether tests need it has the machine's",
        environment=GIVEN,
    ),
    ProcessStart(
        module="tasks/adapters/runner/collect.py",
        runs="collecting tests",
        third_party=True,
        where=SANDBOX,
        network=NO_NETWORK,
        environment=GIVEN,
    ),
    ProcessStart(
        module="tasks/adapters/workbench/local.py",
        runs="agents, the commands of methods, and the debugger",
        third_party=True,
        where=SANDBOX,
        network="none; agents reach the model gateway through a socket",
        environment="only what the job names; a run token instead of the key; private HOME",
    ),
    ProcessStart(
        module="tasks/adapters/sandbox/bubblewrap.py",
        runs="a first try of the sandbox: `true`, `cp`",
        third_party=False,
        where=SANDBOX,
        network=NO_NETWORK,
        environment=GIVEN,
    ),
    ProcessStart(
        module="tasks/adapters/sandbox/docker/sandbox.py",
        runs="a first try of the sandbox: `touch`",
        third_party=False,
        where=SANDBOX,
        network=NO_NETWORK,
        environment=GIVEN,
    ),
    ProcessStart(
        module="tasks/adapters/sandbox/supervise.py",
        runs="the server of supervisors, our own code",
        third_party=False,
        where=HOST,
        network="not used",
        environment="a label",
    ),
    ProcessStart(
        module="tasks/adapters/sandbox/supervisor/start.py",
        runs="bubblewrap, or with `--trusted` the job itself in the process sandbox",
        third_party=True,
        where=SANDBOX,
        network="as the job says",
        environment=GIVEN,
    ),
    ProcessStart(
        module="tasks/adapters/sandbox/supervisor/disk.py",
        runs="our own count of files that an ordinary user cannot read, as root of a user namespace",
        third_party=False,
        where=HOST,
        network="not used",
        environment="this process's",
    ),
    ProcessStart(
        module="tasks/adapters/sandbox/docker/layers.py",
        runs="`tar` of interpreters and environments",
        third_party=False,
        where=HOST,
        network="not used",
        environment="`PATH`",
    ),
    ProcessStart(
        module="tasks/adapters/uv/build_call.py",
        runs="`cp`, for the private copies of builds",
        third_party=False,
        where=HOST,
        network="not used",
        environment="`PATH`",
    ),
    ProcessStart(
        module="tasks/adapters/uv/process.py",
        runs="uv (resolves, downloads, unpacks), npm without install scripts, git, `compileall` with `-S`",
        third_party=False,
        where=HOST,
        network="package registries, GitHub",
        environment=ALLOWED,
    ),
    ProcessStart(
        module="tasks/adapters/uv/interpreters.py",
        runs="the CPythons of this machine, asked for their versions",
        third_party=False,
        where=HOST,
        network="not used",
        environment="this process's",
    ),
    ProcessStart(
        module="tasks/adapters/git/command.py",
        runs="git on mirrors, with settings of our own",
        third_party=False,
        where=HOST,
        network="the sources of mirrors",
        environment="this process's without `GIT_*`",
    ),
    ProcessStart(
        module="tasks/adapters/git/trees.py",
        runs="`tar` of commits",
        third_party=False,
        where=HOST,
        network="not used",
        environment="this process's",
    ),
    ProcessStart(
        module="tasks/adapters/patch/place.py",
        runs="`git apply`",
        third_party=False,
        where=HOST,
        network="not used",
        environment="this process's without `GIT_*`",
    ),
    ProcessStart(
        module="tasks/adapters/extensions/toolchain.py",
        runs="`gcc` and `pkg-config`, asked for their versions",
        third_party=False,
        where=HOST,
        network="not used",
        environment="this process's",
    ),
    ProcessStart(
        module="tasks/adapters/store/files/provenance.py",
        runs="git, asked for the product's own commit",
        third_party=False,
        where=HOST,
        network="not used",
        environment="this process's",
    ),
    ProcessStart(
        module="tasks/rehearsal/services.py",
        runs="PostgreSQL and an object store, for tests",
        third_party=False,
        where=HOST,
        network="this machine",
        environment="this process's",
    ),
)


def markdown_table() -> str:
    """The list as a Markdown table, third-party code first."""
    rows = sorted(STARTS, key=lambda start: not start.third_party)
    lines = ["| what runs | third-party code | where | network | variables |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        code = "yes" if row.third_party else "no"
        lines.append(f"| {row.runs} (`{row.module}`) | {code} | {row.where} | {row.network} | {row.environment} |")
    return "\n".join(lines)
