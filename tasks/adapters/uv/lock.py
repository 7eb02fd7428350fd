"""Resolves requirements to a hashed lock as of a date, cached by content."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tasks.adapters.coordination.locks import atomic_write
from tasks.adapters.uv.build_gate import GatedUv
from tasks.adapters.uv.plan import Building, EnvironmentPlan
from tasks.domain.names import content_key

SEEN_FROM = {
    "setuptools": datetime(2019, 2, 6, tzinfo=UTC),
    "wheel": datetime(2019, 2, 6, tzinfo=UTC),
    "pytest": datetime(2017, 3, 15, tzinfo=UTC),
    "py": datetime(2017, 3, 15, tzinfo=UTC),
    "atomicwrites": datetime(2022, 7, 9, tzinfo=UTC),
}
"""Oldest cutoff for some distributions: an earlier cutoff still sees their releases up to this day.

Before setuptools 40.8, no release built a plain setup.py in isolation; older wheel releases fail on a missing license.
pytest 3.0.7 is the first for Python 3.6, our oldest; our runner does not support earlier ones. pytest needs a `py` of
the same time. All releases of atomicwrites were deleted and uploaded again in summer 2022.
"""

_LOCATION = re.compile(r"^\s*(#|--(index|extra|find|default|no-index))")


@dataclass(frozen=True, slots=True)
class Locker:
    """Creates locks below `folder`, one file each."""

    uv: GatedUv
    folder: Path

    def lock(self, plan: EnvironmentPlan) -> str:
        """Return the hashed requirements of the plan, one per distribution, without any index address.

        Raises `BuildFailed` if they cannot be satisfied, `InfrastructureError` if the registry is not available.
        """
        if not plan.requirements:
            return ""
        path = self.folder / f"{lock_key(plan)}.txt"
        if not path.exists():
            text = strip(self._resolve(plan))
            with atomic_write(path) as half:
                half.write_text(text, encoding="utf-8")
        return path.read_text(encoding="utf-8")

    def _resolve(self, plan: EnvironmentPlan) -> str:
        with tempfile.TemporaryDirectory(prefix="swt-bounds-") as folder:
            constraints = Path(folder) / "constraints.txt"
            constraints.write_text("\n".join(plan.constraints) + "\n", encoding="utf-8")
            return self.uv.run(
                *("pip", "compile", "-", "--python", str(self.uv.python), "--constraint", str(constraints)),
                *building_options(plan.building, Path(folder)),
                *("--generate-hashes", "--no-header", "--no-annotate", "--no-sources", "--quiet"),
                *("--python-version", plan.interpreter.version, *cutoff(plan.exclude_newer)),
                *(("--no-emit-package", plan.project) if plan.project else ()),
                stdin="\n".join(plan.requirements) + "\n",
                hint="the requirements contradict each other, or the cutoff is too early: write a recipe",
            )


def building_options(building: Building, folder: Path) -> tuple[str, ...]:
    """Return uv's options for building packages; `folder` receives the files that they name."""
    bounds, config = folder / "build-constraints.txt", folder / "uv.toml"
    options = [word for name in building.wheels_only for word in ("--only-binary", name)]
    if building.constraints:
        bounds.write_text("\n".join(building.constraints) + "\n", encoding="utf-8")
        options += ["--build-constraints", str(bounds)]
    if building.requires:
        needs = {name: [line for other, line in building.requires if other == name] for name, _ in building.requires}
        lines = (f"{json.dumps(name)} = {json.dumps(lines)}" for name, lines in needs.items())
        config.write_text("\n".join(["[pip.extra-build-dependencies]", *lines, ""]), encoding="utf-8")
        options += ["--config-file", str(config)]
    return tuple(options)


def lock_key(plan: EnvironmentPlan) -> str:
    """Return a content key of everything that decides a resolution."""
    moment = plan.exclude_newer.astimezone(UTC).isoformat()
    exempt = cutoff(plan.exclude_newer)[2:]
    asked = (plan.project, plan.requirements, plan.constraints, plan.interpreter.version, moment)
    built = (asdict(plan.building),) if plan.building != Building() else ()
    return content_key("lock", *asked, *exempt, *built)


def cutoff(moment: datetime) -> tuple[str, ...]:
    """Return uv's options for "as of `moment`": a full UTC timestamp, since a bare date means the local end of day."""
    late = {name: day for name, day in SEEN_FROM.items() if moment < day}
    exempt = [("--exclude-newer-package", f"{name}={_stamp(day)}") for name, day in late.items()]
    return ("--exclude-newer", _stamp(moment), *(word for pair in exempt for word in pair))


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def strip(text: str) -> str:
    """Remove comments and options that name package locations."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and not _LOCATION.match(line)]
    return "".join(f"{line}\n" for line in lines)
