"""The fault-tolerant edit format: our parser and applier against the public harness's, on one corpus of replies.

    python -m benchmarks.edit_format --harness MIRROR --repository MIRROR --repository … --work FOLDER

The corpus is the harness's own example and edits of real test files, from several commits of each repository. The
harness's code is checked out below FOLDER and runs in an environment of its own there.
"""

from __future__ import annotations

import ast
import json
import random
import re
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.edit_corpus import Case, Draft, correct, kept, targets, units
from benchmarks.edit_kinds import KINDS
from benchmarks.measured import machine, text_table
from tasks.adapters.patch.split import Kind, kind_of
from tasks.methods.edits.apply import apply_reply
from tasks.methods.edits.model import EditReason, EditRefused

INSIDE = Path(__file__).parent / "inside"
REQUIREMENTS = ("editdistance", "GitPython")
MAX_BYTES = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one applier made of one case."""

    after: str | None
    """Null where it refused."""
    said: str
    cpu_s: float


def main(
    harness: Annotated[Path, typer.Option(help="Bare mirror of the public harness.")],
    repository: Annotated[list[Path], typer.Option(help="Bare mirrors that test files are taken from.")],
    work: Annotated[Path, typer.Option(help="Folder for the harness's checkout and environment.")],
    commits: Annotated[int, typer.Option(help="Commits of each repository.")] = 2,
    files: Annotated[int, typer.Option(help="Test files of each commit.")] = 2,
    show: Annotated[bool, typer.Option(help="Print the cases that either gets wrong.")] = False,
) -> None:
    """Measure both appliers and print the comparison as Markdown."""
    warnings.simplefilter("ignore")
    work.mkdir(parents=True, exist_ok=True)
    checkout = _checkout(harness, work)
    cases = [*_own_examples(checkout), *(case for mirror in repository for case in _edits(mirror, commits, files))]
    ours = [_ours(case) for case in cases]
    theirs = _theirs(cases, checkout, work)
    typer.echo(f"{len(cases)} replies, {len(repository)} repositories, {commits} commits of each; {machine()}\n")
    typer.echo(_table(cases, ours, theirs))
    if show:
        typer.echo(_wrong(cases, ours, theirs))


def _checkout(harness: Path, work: Path) -> Path:
    """The harness's files as its newest commit has them."""
    folder = work / "harness"
    folder.mkdir(exist_ok=True)
    archive = subprocess.run(["git", "-C", str(harness), "archive", "HEAD"], capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def _own_examples(checkout: Path) -> list[Case]:
    """The example in the harness's own prompt, read from its source: file before, reply, file after."""
    source = (checkout / "dataset" / "swt_bench.py").read_text(encoding="utf-8")
    prompt = source[source.index("PLUS_PROMPT") :]
    before, after = (
        _numbered(text) for text in re.findall(r"\[start of [^\]]+\]\n(.*?)\[end of", prompt, re.DOTALL)[:2]
    )
    reply = re.findall(r"```custom-diff\n.*?```", prompt, re.DOTALL)[1]
    old, new = units(ast.parse(before)), units(ast.parse(after))
    taken = tuple(unit for unit in old if unit not in new)
    given = tuple(unit for unit in new if unit not in old)
    return [
        Case(
            name="the harness's own example", path="demo/file.py", base=before, reply=reply, taken=taken, given=given,
            comments=(),
        )
    ]  # fmt: skip


def _numbered(text: str) -> str:
    return "\n".join(re.sub(r"^\d+ ?", "", line) for line in text.split("\n"))


def _edits(mirror: Path, commits: int, files: int) -> Iterator[Case]:
    """One edit of each kind for each chosen file that allows it."""
    chance = random.Random(mirror.parent.name)  # noqa: S311
    for commit in _commits(mirror, commits):
        for path, text in _test_files(mirror, commit, files, chance):
            draft = Draft(path=path, text=text, targets=tuple(targets(text)), chance=chance)
            yield from (case for make in KINDS if (case := make(draft)) is not None)


def _git(mirror: Path, *args: str) -> bytes:
    return subprocess.run(["git", "-C", str(mirror), *args], capture_output=True, check=True).stdout


def _commits(mirror: Path, count: int) -> list[str]:
    """Evenly spread over the newer half of the first-parent history."""
    history = _git(mirror, "rev-list", "--first-parent", "HEAD").decode().split()
    newer = history[: max(1, len(history) // 2)]
    return [newer[len(newer) * at // count] for at in range(count)]


def _test_files(mirror: Path, commit: str, count: int, chance: random.Random) -> list[tuple[str, str]]:
    """Test modules with a few definitions that our interpreter can parse, drawn by chance."""
    names = _git(mirror, "ls-tree", "-r", "--name-only", "-z", commit).decode().split("\0")
    modules = [name for name in names if kind_of(name) is Kind.MODULE]
    chance.shuffle(modules)
    some = _asynchronous(mirror, commit, modules)
    modules = [*some[:1], *(name for name in modules if name not in some[:1])]
    found: list[tuple[str, str]] = []
    for name in modules:
        text = _git(mirror, "show", f"{commit}:{name}").decode("utf-8", "replace")
        if len(found) < count and "\r" not in text and len(text) < MAX_BYTES and _usable(text):
            found.append((name, text))
        if len(found) == count:
            break
    return found


def _asynchronous(mirror: Path, commit: str, modules: Sequence[str]) -> list[str]:
    """Those with coroutines, which are rare: one of each commit is in the corpus."""
    grep = ["git", "-C", str(mirror), "grep", "-l", "-z", "-e", "async def test", commit, "--", "*.py"]
    listing = subprocess.run(grep, capture_output=True, check=False).stdout.decode()
    found = {name.partition(":")[2] for name in listing.split("\0")}
    return [name for name in modules if name in found]


def _usable(text: str) -> bool:
    try:
        return len(targets(text)) >= 6
    except SyntaxError:
        return False


def _ours(case: Case) -> Result:
    """CPU seconds from the reply to the files and their unified diff."""
    base = None if case.base is None else case.base.encode()
    begun = time.process_time()
    done = apply_reply(case.reply, lambda path: base if path == case.path else None)
    spent = time.process_time() - begun
    if isinstance(done, EditRefused):
        unchanged = case.base if done.reason is EditReason.NOTHING_CHANGED else None
        return Result(after=unchanged, said=str(done), cpu_s=spent)
    after = next((change.after for change in done.changes if change.path == case.path), None)
    return Result(after=after, said="; ".join(done.notes), cpu_s=spent)


def _theirs(cases: Sequence[Case], checkout: Path, work: Path) -> list[Result]:
    """CPU seconds from the reply to the files; their diff, made with git, is not counted."""
    python = work / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, str(work / "venv")], check=True)
        subprocess.run(["uv", "pip", "install", "--quiet", "--python", str(python), *REQUIREMENTS], check=True)
    asked, answered = work / "cases.json", work / "results.json"
    asked.write_text(json.dumps([asdict(case) for case in cases]), encoding="utf-8")
    driver = str(INSIDE / "public_applier.py")
    subprocess.run([str(python), "-W", "ignore", driver, str(checkout), str(asked), str(answered)], check=True)
    return [Result(**row) for row in json.loads(answered.read_text(encoding="utf-8"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Sums over cases of one kind for one applier."""

    right: int
    kept: int
    cpu_s: float


def _tally(cases: Sequence[Case], results: Sequence[Result]) -> Tally:
    pairs = [(case, result.after) for case, result in zip(cases, results, strict=True)]
    return Tally(
        right=sum(after is not None and correct(case, after) for case, after in pairs),
        kept=sum(kept(case, after) for case, after in pairs if after is not None),
        cpu_s=sum(result.cpu_s for result in results),
    )


def _table(cases: Sequence[Case], ours: Sequence[Result], theirs: Sequence[Result]) -> str:
    groups: dict[str, list[int]] = defaultdict(list)
    for at, case in enumerate(cases):
        groups[case.name].append(at)
    groups["all"] = list(range(len(cases)))
    groups["all but `delete`"] = [at for at, case in enumerate(cases) if case.name != "delete"]
    rows = []
    for name, places in groups.items():
        some = [cases[at] for at in places]
        one, other = (_tally(some, [results[at] for at in places]) for results in (ours, theirs))
        total = sum(len(case.comments) for case in some)
        shares = (_percent(one.kept, total), _percent(other.kept, total))
        times = (f"{tally.cpu_s * 1000 / len(some):.1f}" for tally in (one, other))
        rows.append([name, str(len(some)), str(one.right), str(other.right), *shares, *times])
    head = ["edit", "n", "right: ours", "harness", "comments kept, %: ours", "harness", "CPU ms: ours", "harness"]
    return text_table(head, rows)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "–"


def _wrong(cases: Sequence[Case], ours: Sequence[Result], theirs: Sequence[Result]) -> str:
    lines = []
    for who, results in (("ours", ours), ("harness", theirs)):
        for case, result in zip(cases, results, strict=True):
            if result.after is None or not correct(case, result.after):
                lines.append(f"{who}: {case.name}: {case.path}: {result.said or 'applied, but wrong'}")
    return "\n".join(lines)


if __name__ == "__main__":
    typer.run(main)
