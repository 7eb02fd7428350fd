"""Description of an agent. Each agent has one small file; no other module depends on a specific agent."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from tasks.domain.names import content_key

RESOLVED = datetime(2026, 11, 15, tzinfo=UTC)
"""Date as of which agents' dependencies are resolved, so that a release stays the same program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonKit:
    """A program from PyPI or from a git repository, in a virtual environment of its own."""

    requirements: tuple[str, ...]
    """PEP 508, pinned, the agent first. Empty if `repository` is enough."""
    python: str = "3.12"
    repository: str = ""
    """`owner/name` on GitHub, for agents that need their source tree; it is in `source/` of the folder."""
    tag: str = ""
    parts: tuple[str, ...] = ()
    """Files and folders of the repository that it needs."""
    as_of: datetime = RESOLVED

    @property
    def release(self) -> str:
        """The agent's own pinned release."""
        return self.tag or self.requirements[0].partition("==")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class NpmKit:
    """A program from npm, in a folder of its own."""

    packages: tuple[str, ...]
    """`name@version`, the agent first."""

    @property
    def release(self) -> str:
        return self.packages[0].rpartition("@")[2]


Kit = PythonKit | NpmKit


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedTests:
    """How an agent's program runs the edited tests and shows its model the failures."""

    command: tuple[str, ...]
    """argv that runs test files; their names are appended."""
    targets: str
    """Form of the names: `path` or `module`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTask:
    """Input of one agent run."""

    root: Path
    """Installation folder, mounted inside at the same path."""
    url: str
    """URL of the gateway, without `/v1`."""
    token: str = field(repr=False)
    """Run token, used in place of a key."""
    model: str
    prompt: str
    outbox: PurePosixPath
    """Temporary folder for `Launch.files`, deleted after the run."""
    checkout: PurePosixPath
    calls: int
    """Maximum number of replies."""
    validation: EditedTests | None = None
    """None if the program must not run tests on its own."""

    @property
    def python(self) -> tuple[str, ...]:
        """argv of its interpreter: ignores environment variables, which are meant for the tests, and writes no
        bytecode."""
        return (str(self.root / "bin" / "python"), "-I", "-B")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start an agent for a task."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables in addition to those for the model's URL and token."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Path below the outbox → text: prompt, configuration."""
    writable: Mapping[str, str] = field(default_factory=dict)
    """Path that the agent must write to → folder below the outbox. Only in isolating sandboxes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A third-party agent as a method runs it."""

    name: str
    """Name of the method."""
    summary: str
    kit: Kit
    dialect: str
    """Dialect of its model calls: `chat`, `responses`, `messages`."""
    launch: Callable[[AgentTask], Launch]
    leftovers: tuple[str, ...] = ()
    """Name patterns of the agent's own files and folders in the checkout; not part of its work."""
    advice: str = ""
    """End of its prompt: the available tools, and when it is done."""
    calls: int = 20
    """Default maximum number of replies; an experiment may override it."""
    stops_after: int | None = None
    """Number of replies after which the program stops by itself, unless an experiment overrides it. None: no limit."""
    program: str = ""
    """Name of its folder if several methods use one program; else the method's name."""
    test_command: bool = True
    """Whether the prompt explains how to run tests."""
    validates: bool = False
    """Whether its program can run tests on its own, if an experiment asks for that."""

    def told(self, granted: int) -> int:
        """Return the number of replies for its prompt and settings, if the gateway grants `granted`."""
        return granted if self.stops_after is None else min(self.stops_after, granted)

    @property
    def kit_key(self) -> str:
        """Content key of what is installed. Leaves out empty fields, so that a new field changes no key."""
        said = {name: value for name, value in asdict(self.kit).items() if value}
        return content_key("agent-kit", type(self.kit).__name__, jsonable(said))

    @property
    def key(self) -> str:
        """Content key of everything that decides its behavior: its kit and its own file."""
        text = Path(inspect.getsourcefile(self.launch) or "").read_text(encoding="utf-8")
        return content_key("agent", self.name, self.kit_key, self.advice, self.calls, self.test_command, text)


def jsonable(facts: Mapping[str, object]) -> dict[str, object]:
    """Return the facts with datetimes as text."""
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in facts.items()}
