"""A scripted model that answers with published tests: for sweeps of real instances without a provider."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from tasks.adapters.llm.base import Role
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.patch.model import Refused, Status
from tasks.adapters.patch.read import read_patch
from tasks.rehearsal.scripted_provider.script import Step
from tasks.rehearsal.scripted_provider.server import text_step

NOTHING = "I do not know."
AGENT, AS_DIFF, AS_REPLACEMENT, AS_JUDGE = (
    "You work in a shell",
    "Answer with a unified diff",
    "<original>",
    '"same_problem"',
)
"""In what a method asks for first: how it wants its answer."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """A test file that a published prediction adds."""

    path: str
    text: str
    patch: str

    def answer(self, opening: str, replies: int) -> str:
        """In the form of whoever asks, after so many replies."""
        if AS_JUDGE in opening:
            return json.dumps({"reason": "it fails as told", "same_problem": len(opening) % 2 == 0})
        if AGENT in opening:
            write = f"cat > {self.path} <<'END_OF_FILE'\n{self.text}END_OF_FILE"
            return f"```bash\n{write if replies == 0 else 'submit'}\n```"
        if AS_DIFF in opening:
            return f"```diff\n{self.patch}```"
        if AS_REPLACEMENT in opening:
            return f"<file>{self.path}</file>\n<original></original>\n<patched>{self.text}</patched>"
        return f"edit {self.path}\ninsert at end\n{self.text}end edit"


@dataclass(frozen=True, slots=True)
class PublishedTests:
    """For each issue, by its whole statement, the files to choose from: by a hash of what is asked, so that the same
    question gets the same answer on every machine."""

    files: Mapping[str, tuple[NewFile, ...]]
    waits_s: float = 0.0
    """Before each answer."""

    @classmethod
    def of(cls, rows: Path, instances: Iterable[str], predictions: Iterable[Path], waits_s: float = 0.0) -> Self:
        """Those predictions that add one file and nothing else; rows and predictions in SWE-bench's form."""
        wanted = set(instances)
        told = map(json.loads, rows.read_text("utf-8").splitlines())
        statements = {row["instance_id"]: row["problem_statement"].strip() for row in told}
        files = defaultdict[str, list[NewFile]](list)
        for file in predictions:
            for row in map(json.loads, file.read_text("utf-8").splitlines()):
                name = row["instance_id"]
                if name in wanted and name in statements and (new := _new_file(row["model_patch"])):
                    files[statements[name]].append(new)
        return cls({statement: tuple(some) for statement, some in files.items()}, waits_s)

    def __call__(self, call: ClientRequest) -> Step:
        opening = next(message.text for message in call.messages if message.role is Role.USER)
        known = next((some for statement, some in self.files.items() if statement in opening), ())
        replies = sum(message.role is Role.ASSISTANT for message in call.messages)
        drawn = hashlib.sha256(f"{call.seed} {opening}".encode()).digest()[0]
        text = known[drawn % len(known)].answer(opening, replies) if known else NOTHING
        return replace(text_step(text), wait_s=self.waits_s)


def _new_file(patch: str) -> NewFile | None:
    read = read_patch(patch)
    if isinstance(read, Refused) or [file.status for file in read.files] != [Status.ADDED]:
        return None
    (file,) = read.files
    return NewFile(file.path, "".join(line for hunk in file.hunks for line in hunk.new), patch)
