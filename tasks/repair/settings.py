"""What decides an attempt at a repair."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from tasks.domain.names import MethodName
from tasks.domain.outcome import SandboxKind
from tasks.domain.repair import Roles
from tasks.domain.run import Limits

METHOD = "tdflow"


@dataclass(frozen=True, slots=True, kw_only=True)
class TdflowLimits:
    """The TDFlow paper's Table 6, and what it leaves open."""

    iterations: int = 10
    debugged: int = 18
    """Tests that are debugged in one iteration. Where more fail: targets first, then broken ones, each in the order in
    which they ran."""
    generate_turns: int = 200
    explore_turns: int = 75
    revise_turns: int = 50
    debug_turns: int = 250
    temperature: float = 1.0
    prompt_tokens: int = 100_000
    """Of one prompt. Where it is more, what tools answered first goes first."""
    reply_tokens: int | None = None
    """Of one reply. Null for the model's own limit."""
    seconds: float = 4 * 3600.0
    """Of one sub-agent: no call is begun later than this."""
    at_once: int = 4
    """Tests that are debugged side by side; it changes no result."""

    @property
    def facts(self) -> dict[str, object]:
        """What results depend on."""
        return {name: value for name, value in asdict(self).items() if name != "at_once"}


GOLDEN = "golden"
"""The tests that people wrote."""
GENERATE = "generate"
"""Those that Generate Tests writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairSettings:
    """How attempts are made."""

    tdflow: TdflowLimits = field(default_factory=TdflowLimits)
    sandbox: SandboxKind | None = None
    trusted: bool = False
    """Whether the code under test may run where nothing isolates it."""
    limits: Limits = field(default_factory=Limits)

    def method(self, tests: str, roles: Roles = (), name: str = METHOD) -> MethodName:
        """What the method is counted as: with other tests, models or iterations it takes nobody's place. Iterations and
        roles are TDFlow's."""
        default, own = TdflowLimits().facts, self.tdflow.facts
        changed = [f"{key}={own[key]}" for key in sorted(own) if name == METHOD and own[key] != default[key]]
        changed += [f"{role}={model}" for role, model in roles]
        changed += [] if tests == GOLDEN else [f"tests={tests}"]
        return MethodName(f"{name}[{','.join(changed)}]" if changed else name)
