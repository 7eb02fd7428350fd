"""Stories on the demo that `fault_drill` strikes: what each is asked, which rounds it has, and the world around it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.engine.units import Executor, Summary, ThreadExecutor
from flows.interface.option_types import read_request
from flows.interface.pipelines import PIPELINES, run_flow
from flows.interface.settings import Settings
from flows.snapshots import import_rows
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.store.tables.store import Store
from tasks.domain.localization import Locator
from tasks.domain.validation import InvalidReason, Validation
from tests.fakes.contract import HELPFUL
from tests.fakes.local_github.hub import Hub
from tests.fakes.local_github.server import listening
from tests.fakes.local_github.world import World, open_repository
from tests.fakes.scripted_model import calling
from tests.fakes.scripted_provider.script import Step
from tests.fakes.scripted_provider.server import ScriptedProvider, text_step

LOCATING: dict[str, object] = {
    "extract_relevant()": {"function_call": "extract_relevant", "args": {}},
    "four keys": {"explanation": "scaling", "code": ["scaled"], "errors": [], "paths": []},
    "get_bm25_top10": {"function_call": "get_bm25_top10", "args": {}},
    "ranked_files": {"ranked_files": ["larder/recipe.py"], "confidence_scores": [9]},
    "Four signs": {"signs": [], "why": "nothing to be seen"},
}
"""What the agent that looks for files asks for, what it is told, and what the reader of repairs says."""
LARDER = "rolling-swt-bench/larder"
TWO = tuple(f"rolling-swt-bench__larder-{number}" for number in (3, 7))
POOL = "one"
"""A snapshot of the demo's first instance alone."""
ODD = "odd"
"""A snapshot of an instance with a golden test that depends on the order, and one whose golden test fails."""
RETIRED = "retired"
"""A snapshot of the demo's first instance, which was valid, and at its last look was not."""
POSITION = """\
diff --git a/tests/test_position.py b/tests/test_position.py
new file mode 100644
--- /dev/null
+++ b/tests/test_position.py
@@ -0,0 +1,12 @@
+import pytest
+
+before = []
+
+
+@pytest.mark.parametrize("number", range(50))
+def test_one_of_many(number):
+    before.append(number)
+
+
+def test_comes_last_or_first():
+    assert len(before) in (0, 50)
"""
"""It passes in the order of the file and in reverse, which is how a verdict is found, and not when it is shuffled."""


@dataclass(frozen=True)
class Drill:
    """A story, and the rounds that it has on the demo."""

    story: str
    asked: dict[str, Any]
    rounds: tuple[str, ...]
    before: tuple[str, ...] = ()
    """Candidates that are judged first, on two instances of the demo."""
    place: int = 0
    """Of the unit that is struck: 1 for the second, -1 for the last."""
    how: str = ""
    """What is particular about it."""
    off_list: tuple[tuple[int, int], ...] = ()
    """Pull requests of its GitHub, and the issue that each says it fixes, which is listed no longer: it is asked for by
    its number."""
    git: str = ""
    """Where mirrors are copied from, as in `Settings`, with the folder of this machine for `{mirrors}`."""
    once: bool = False
    """Whether its rounds have units in a new warehouse only, so that every fault needs one of its own."""

    @property
    def title(self) -> str:
        return f"{self.story}, {self.how}" if self.how else self.story


JUDGED = ("environments", "runs", "decoys", "guards")
OF_TWO = {"snapshot": SNAPSHOT, "instances": TWO}
WORK = {"methods": ("zero_shot_plus",), "models": ("scripted",), **OF_TWO}
MONTH = {"snapshot": "2025-08", "repositories_file": DEMO / "repositories.toml", "limit": 1, "free_gb": 0}
CHECKED = ("environments", "runs", "leaks", "validation")
AGENT = {"method": Locator.AGENT, "model": "scripted"}

CONTROLS = ("golden", "nop")
CAREFUL = str(DEMO / "predictions.demo-careful.jsonl")
CHEATER = str(DEMO / "predictions.demo-cheater.jsonl")
OF_THREE = {"snapshot": SNAPSHOT, "instances": (*TWO, "rolling-swt-bench__larder-10")}

DRILLS = (
    Drill("evaluate", {"candidates": CONTROLS, **OF_TWO}, JUDGED),
    Drill("validate", {"snapshot": ODD}, (*CHECKED, "settling", "doubts")),
    Drill(
        "strength",
        {"fixes": (str(DEMO / "repairs.demo-quick.jsonl"),), **OF_TWO},
        ("environments", "references", "fixes"),
        before=CONTROLS,
    ),
    Drill("localize", OF_TWO, ("retrieval",)),
    Drill("generate", WORK, ("environments", "retrieval", "generation")),
    Drill("rebuild", MONTH, ("reach", "scrape", "rows", "filter", *CHECKED, "facts", "publish")),
)
MORE = (
    Drill(
        "fixes",
        {
            "fixes": (str(DEMO / "repairs.demo-quick.jsonl"),),
            "tests": (CAREFUL,),
            **OF_TWO,
        },
        ("fixes", "decoys", "guards"),
    ),
    Drill(
        "evaluate",
        {"candidates": ("golden",), "guards": False, **OF_TWO},
        ("confirmations", "golden"),
        how="no guards",
    ),
    Drill("evaluate", {"candidates": (CHEATER,), **OF_TWO}, ("confirmations",), how="a check fails"),
    Drill("validate", {"health": True, **OF_TWO}, ("health",), how="again"),
    Drill("validate", {"alone": True, **OF_TWO}, ("alone",), how="golden tests alone"),
    Drill(
        "fixes",
        {"fixes": (str(DEMO / "repairs.demo-quick.jsonl"),), "judge": "scripted", **OF_TWO},
        ("readings",),
        how="read by a model",
    ),
    Drill("sweep", WORK, ("environments", "retrieval", "generation", "runs", "decoys", "guards")),
    Drill("generate", {"dry_run": True, **WORK}, ("retrieval",), how="dry run"),
    Drill("localize", {**AGENT, **OF_TWO}, ("localization",), how="agent"),
    Drill("repair", {"model": "scripted", **OF_TWO}, ("environments", "repairs", "runs", "fixes")),
    Drill("freeze", {"pool": POOL, "snapshot": "frozen"}, (*CHECKED, "facts", "publish")),
    Drill("report", {"snapshot": SNAPSHOT}, ("pages",), before=CONTROLS),
    Drill("rate", {"snapshot": (SNAPSHOT,), "times": 20}, ("fit",), before=(CAREFUL,)),
    Drill("evaluate", {"candidates": CONTROLS, **OF_THREE}, JUDGED, how="second of three", place=1),
    Drill("evaluate", {"candidates": CONTROLS, **OF_THREE}, JUDGED, how="last of three", place=-1),
    Drill("generate", {**WORK, **OF_THREE}, ("environments", "generation"), how="last of three", place=-1),
    Drill("rebuild", MONTH, ("mirrors",), how="with mirrors", git="{mirrors}/{repo}.git"),
    Drill("validate", {"snapshot": RETIRED, "health": True}, ("second looks",), how="a retired one"),
    Drill(
        "rebuild",
        MONTH,
        ("issues", "rows of issues"),
        how="an issue off the list",
        off_list=((12, 11),),
        once=True,
    ),
)
"""What the script tells besides; these share their stage functions with the others."""


def replies(call: ClientRequest) -> Step:
    """Of a model that extracts, retrieves and ranks where it is asked for files, hands in the golden patch where it is
    asked for one, and writes a test elsewhere."""
    if any(tool.name == "submit_patch" for tool in call.tools):
        return Step(reply=calling("submit_patch", patch=_golden_patch(call.messages[0].text)))
    last = call.messages[-1].text
    said = next((said for asked, said in LOCATING.items() if asked in last), HELPFUL)
    return text_step(said if isinstance(said, str) else json.dumps(said))


def _golden_patch(text: str) -> str:
    """Of the demo's instance whose issue is in a text."""
    rows = map(json.loads, (DEMO / "instances.jsonl").read_text("utf-8").splitlines())
    return next(str(row["patch"]) for row in rows if row["problem_statement"].splitlines()[0] in text)


@contextmanager
def world(settings: Settings, folder: Path, off_list: Iterable[tuple[int, int]] = ()) -> Iterator[Settings]:
    """A provider of models, a GitHub with some issues off its list, and a folder of mirrors on this machine. At its end
    no model was asked twice."""
    mirror = build_demo_mirror(settings)
    links = folder / "mirrors" / f"{LARDER}.git"
    links.parent.mkdir(parents=True, exist_ok=True)
    if not links.exists():
        links.symlink_to(mirror)
    served = open_repository(LARDER, mirror, issues=DEMO / "issues.jsonl", scratch=folder / "github", license="MIT")
    told = {pull: replace(served.pulls[pull], body=f"Fixes #{issue}") for pull, issue in off_list}
    served = replace(served, pulls={**served.pulls, **told})
    deleted = {LARDER: {issue for _, issue in off_list}}
    hub = Hub(World({LARDER: served}, until=datetime(2025, 8, 15, tzinfo=UTC), deleted=deleted))
    provider = ScriptedProvider(replies)
    with listening(hub) as github, provider.serve() as url:
        yield replace(settings, github=f"{github}/graphql", environ={"SWT_SCRIPTED_BASE_URL": url})
    said = Counter(repr(one.spoken) for one in provider.books if one.charged)
    assert not [one for one, times in said.items() if times > 1], "a model was asked twice"


def prepared(drill: Drill, settings: Settings, folder: Path) -> Settings:
    """The settings of the drill: where its mirrors are copied from."""
    return replace(settings, git=drill.git.replace("{mirrors}", str(folder / "mirrors")))


def prepare_for(drill: Drill, settings: Settings, folder: Path) -> None:
    """Judge what this story needs, and import the pool that it names."""
    rows = (DEMO / "instances.jsonl").read_text("utf-8").splitlines()
    if drill.asked.get("pool") == POOL:
        _import(settings, folder, POOL, rows[:1])
    if drill.asked["snapshot"] == RETIRED:
        _import(settings, folder, RETIRED, rows[:1])
        assert tell("validate", {"snapshot": RETIRED}, settings, ThreadExecutor(1)).exit_code == 0
        _retire(Store(settings.store), RETIRED)
    if drill.asked["snapshot"] == ODD:
        first, last = json.loads(rows[0]), rows[-1]
        first["test_patch"] += POSITION
        _import(settings, folder, ODD, [json.dumps(first), last])
    if drill.before:
        judged = {"candidates": drill.before, **OF_TWO}
        assert tell("evaluate", judged, settings, ThreadExecutor(1)).exit_code == 0


def _retire(store: Store, snapshot: str) -> None:
    """A later look at every instance of the snapshot found it flaky."""
    looks = store.read(Validation, snapshot=snapshot)
    assert all(look.valid for look in looks)
    now = datetime.now(UTC)
    store.write([replace(look, valid=False, reason=InvalidReason.FLAKY, validated_at=now) for look in looks])


def _import(settings: Settings, folder: Path, name: str, rows: Iterable[str]) -> None:
    file = folder / f"{name}.jsonl"
    file.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    import_rows(settings, file, name)


def tell(name: str, asked: dict[str, Any], settings: Settings, board: Executor) -> Summary:
    pipeline = next(one for one in PIPELINES if one.name == name)
    summary: Summary = run_flow(read_request(pipeline.request, asked), settings, board)
    return summary
