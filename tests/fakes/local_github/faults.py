"""Faults on demand: what each is called, how often it comes, and the dice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from tasks.domain.errors import BadInput


class GitHubFault(StrEnum):
    """What can go wrong with one request."""

    BAD_GATEWAY = "502"
    GATEWAY_TIMEOUT = "504"
    SERVER_ERROR = "500"
    HANG = "timeout"
    """No answer at all."""
    CUT = "truncated"
    """The connection ends within the body."""
    TORN = "torn"
    """A whole body that is half a JSON."""
    PARTIAL = "partial"
    """`data` with a hole, and `errors`."""
    RESOURCES = "resources"
    """RESOURCE_LIMITS_EXCEEDED."""
    PRIMARY = "primary"
    """The token's points are used up, said with HTTP 200."""
    SECONDARY = "secondary"
    """Too fast, said with HTTP 200."""
    SECONDARY_403 = "secondary-403"
    SECONDARY_429 = "secondary-429"
    NULL_NODE = "null-node"
    """One node of a page is null, and nothing says why."""
    NULL_LIST = "null-list"
    """So is the whole list."""
    SHORT = "short"
    """The last node of a page is left out, and the cursor says it was there."""
    CUT_LIST = "cut-list"
    """The page is half of what it should be, and says that nothing follows."""
    NO_REPOSITORY = "no-repository"
    """A null repository, and no error."""
    PROXY = "proxy"
    """HTTP 200 with a page for people, as a proxy gives it."""
    MOVING = "moving"
    """A good answer, and then something in the repository changes."""


@dataclass(slots=True)
class Dice:
    """Draws at most one fault for each request."""

    rates: Mapping[GitHubFault, float] = field(default_factory=dict)
    """Fault → probability; together at most 1."""
    seed: int = 0
    random: Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)

    def draw(self) -> GitHubFault | None:
        thrown = self.random.random()
        for fault, rate in self.rates.items():
            thrown -= rate
            if thrown < 0:
                return fault
        return None


def dice_from(text: str) -> Dice:
    """`502=0.1,partial=0.05,seed=3`; `BadInput` for a fault that there is not."""
    rates: dict[GitHubFault, float] = {}
    seed = 0
    for part in filter(None, text.replace(" ", "").split(",")):
        name, _, value = part.partition("=")
        try:
            if name == "seed":
                seed = int(value)
            else:
                rates[GitHubFault(name)] = float(value)
        except ValueError as error:
            known = ", ".join(GitHubFault)
            raise BadInput(f"{part!r} is no fault with a probability", hint=f"faults: {known}; and seed") from error
    if sum(rates.values()) > 1:
        raise BadInput(f"the probabilities in {text!r} are more than 1 together", hint="one request has one fault")
    return Dice(rates, seed)
