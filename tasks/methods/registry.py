"""Methods by name: those of a stage, and other people's, by entry point."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from tasks.domain.errors import BadInput, NotFound
from tasks.methods.method import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The methods that a stage can be asked for."""

    ours: tuple[Method, ...]
    group: str
    """Entry points of this group are methods: the name is the method's, the object is a `Method` or its function."""

    def methods(self) -> dict[str, Method]:
        """Every method by its name. `BadInput` where a plug-in takes the name of another or is none."""
        found = {method.name: method for method in self.ours}
        for point in entry_points(group=self.group):
            if point.name in found:
                raise BadInput(f"two methods are called {point.name}", hint=f"rename the entry point {point.value}")
            found[point.name] = _loaded(point)
        return found

    def named(self, name: str) -> Method:
        """`NotFound` names those that there are."""
        found = self.methods()
        if name not in found:
            raise NotFound(f"there is no method {name!r}", hint=f"there are {', '.join(sorted(found))}")
        return found[name]


def _loaded(point: EntryPoint) -> Method:
    """The method of an entry point, under the entry point's name."""
    try:
        target = point.load()
    except (ImportError, AttributeError) as error:
        raise BadInput(f"method {point.name}: {point.value} cannot be imported: {error}", hint="repair it") from error
    if isinstance(target, Method) and target.name == point.name:
        return target
    if callable(target) and not isinstance(target, Method):
        summary = (target.__doc__ or "").strip().partition("\n")[0]
        return Method(name=point.name, run=target, summary=summary)
    raise BadInput(
        f"method {point.name}: {point.value} is no method", hint="name a function or a Method; docs/writing-a-method.md"
    )
