"""What is known of an agent: one small file each says it, and nothing else of this project does."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from tasks.domain.names import content_key

RESOLVED = datetime(2026, 11, 15, tzinfo=UTC)
"""What agents depend on is resolved as of this day, so that the same release is the same program later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonKit:
    """A program from PyPI, or from a git repository, in a virtual environment of its own."""

    requirements: tuple[str, ...]
    """PEP 508, the agent itself first, and pinned. Empty where `repository` says it all."""
    python: str = "3.12"
    repository: str = ""
    """`owner/name` on GitHub, for agents that need their whole source tree; it lies in `source/` of the folder."""
    tag: str = ""
    parts: tuple[str, ...] = ()
    """Files and folders of the repository that it needs."""
    as_of: datetime = RESOLVED

    @property
    def release(self) -> str:
        """The agent's own, as it is pinned."""
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
    """How an agent's program runs the tests that were edited, and shows its model what fails."""

    command: tuple[str, ...]
    """argv that runs test files; they are appended."""
    targets: str
    """How it names them: `path` or `module`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTask:
    """What an agent is sent out with."""

    root: Path
    """Folder that it is installed in, seen inside at the same place."""
    url: str
    """The gateway, without `/v1`."""
    token: str = field(repr=False)
    """The run token, which stands where a key would."""
    model: str
    prompt: str
    outbox: PurePosixPath
    """Folder that is thrown away; `Launch.files` are put there."""
    checkout: PurePosixPath
    calls: int
    """Replies that it is to stop after."""
    validation: EditedTests | None = None
    """Null where its program is to run no tests of its own accord."""

    @property
    def python(self) -> tuple[str, ...]:
        """Its interpreter, deaf to the variables that are meant for the tests, and leaving no bytecode."""
        return (str(self.root / "bin" / "python"), "-I", "-B")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How an agent is started on an errand."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    """Besides the usual variables for the model's place and token."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Path below the outbox → text: prompt, configuration."""
    writable: Mapping[str, str] = field(default_factory=dict)
    """Place inside that it insists on writing to → folder below the outbox. Only where a sandbox isolates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent as a method runs it."""

    name: str
    """The method's name."""
    summary: str
    kit: Kit
    dialect: str
    """How it speaks to its model: `chat`, `responses`, `messages`."""
    launch: Callable[[AgentTask], Launch]
    leftovers: tuple[str, ...] = ()
    """Patterns of names: files and folders of its own in the checkout, which are no part of its work."""
    advice: str = ""
    """What its prompt says at the end: what it has for tools, and when it is done."""
    calls: int = 20
    """Replies that it gets at most, unless an experiment asks for another number."""
    stops_after: int | None = None
    """Replies after which its program stops by itself, unless an experiment asks for another number. None: no limit."""
    program: str = ""
    """Name of its folder, where several methods run one program; else the method's."""
    test_command: bool = True
    """Whether it is told how tests are run."""
    validates: bool = False
    """Whether its program can run tests of its own accord, where an experiment wants that."""

    def told(self, granted: int) -> int:
        """Replies that its prompt and its settings name, where the gateway gives it so many."""
        return granted if self.stops_after is None else min(self.stops_after, granted)

    @property
    def kit_key(self) -> str:
        """Content key of what is installed. What a kit does not say does not count, so a new field changes no key."""
        said = {name: value for name, value in asdict(self.kit).items() if value}
        return content_key("agent-kit", type(self.kit).__name__, jsonable(said))

    @property
    def key(self) -> str:
        """Content key of all that decides what it does: its kit and its own file."""
        text = Path(inspect.getsourcefile(self.launch) or "").read_text(encoding="utf-8")
        return content_key("agent", self.name, self.kit_key, self.advice, self.calls, self.test_command, text)


def jsonable(facts: Mapping[str, object]) -> dict[str, object]:
    """The same with moments as text."""
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in facts.items()}
