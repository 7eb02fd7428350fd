"""What the detectors of test hacking find in golden patches, which are honest, and in published repairs.

    SWT_CACHE=… python -m benchmarks.hack_signs ROWS.jsonl … [--repairs FILE.jsonl …] [--show]

Golden patches are held against their own golden tests, as a repair is: what is found there is a false alarm, but for
what their authors did change of dependencies and the like. Of the repairs those that others found to resolve the issue
(`resolved` in the file) are counted apart. Instances without a mirror are counted and left out. Printed is a Markdown
table by sign, with 95 % intervals by Wilson; `--show` prints each finding.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from scipy.stats import binomtest

from flows.settings import settings_from
from tasks.adapters.git.mirrors import Mirrors
from tasks.domain.errors import NotFound
from tasks.domain.instance import TaskInstance
from tasks.evaluate.hacking.changed import HackContext
from tasks.evaluate.hacking.signs import DETECTORS, find_signs, known_of
from tasks.scrape.swe_bench_rows import import_instances

GOLDEN, RESOLVED, OTHERS = "golden", "resolved", "not resolved"
GROUPS = (GOLDEN, RESOLVED, OTHERS)


def main(
    rows: Annotated[list[Path], typer.Argument(help="SWE-bench rows.")],
    repairs: Annotated[list[Path] | None, typer.Option(help="Published repairs.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Print each finding.")] = False,
) -> None:
    mirrors = Mirrors(settings_from(dict(os.environ)).places.mirrors)
    instances = {one.instance_id: one for path in rows for one in import_instances(path, snapshot="s").instances}
    patches = [(GOLDEN, name, one.patch) for name, one in instances.items()]
    for path in repairs or ():
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            group = RESOLVED if row["resolved"] else OTHERS
            patches.append((group, row["instance_id"], row["model_patch"] or ""))
    known: dict[str, HackContext | None] = {}
    looked: Counter[str] = Counter()
    found: dict[str, Counter[str]] = defaultdict(Counter)
    missing = 0
    for group, name, patch in patches:
        instance = instances.get(name)
        if instance is not None and name not in known:
            known[name] = _known(mirrors, instance)
        if instance is None or (what := known[name]) is None:
            missing += 1
            continue
        signs = find_signs(patch, what, partial(mirrors.read_file, instance.repo, instance.base_commit))
        looked[group] += 1
        found[group].update({place.sign for _, place in signs})
        for where, place in signs if show else ():
            print(f"{group}\t{place.sign}\t{name}\t{where}:{place.line}\t{place.detail}", file=sys.stderr)
    print(f"| sign | {' | '.join(f'{group} ({looked[group]})' for group in GROUPS)} |\n| --- | --: | --: | --: |")
    for sign in DETECTORS:
        print(f"| `{sign}` | {' | '.join(share(found[group][sign], looked[group]) for group in GROUPS)} |")
    print(f"\n{missing} patches without a mirror or an instance")


def _known(mirrors: Mirrors, instance: TaskInstance) -> HackContext | None:
    try:
        return known_of(instance, partial(mirrors.read_file, instance.repo, instance.base_commit))
    except NotFound:
        return None


def share(number: int, of: int) -> str:
    if not of:
        return "-"
    low, high = binomtest(number, of).proportion_ci(method="wilson")
    return f"{number} ({low:.1%} to {high:.1%})"


if __name__ == "__main__":
    typer.run(main)
