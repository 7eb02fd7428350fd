"""A model that knows the golden tests of some instances and writes them, in whichever form it is asked for them.

It hands in the golden test file as it is after the fix, under a name of its own beside it: as a diff, in either grammar
of edits, as a replacement, by a shell, by tools, or as Aider's blocks. Asked where an issue is, it names the files that
the golden patch changes, and others after them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import PurePosixPath

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.llm.base import Role
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.patch.apply import Applied, apply_to_files
from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch, to_text
from tasks.adapters.patch.render import Change, render
from tasks.domain.errors import BadInput
from tasks.domain.instance import TaskInstance
from tasks.generate.hints import changed_files
from tasks.rehearsal.scripted_model import calling
from tasks.rehearsal.scripted_provider.script import Fault, Step
from tasks.rehearsal.scripted_provider.server import text_step

NAMED = 3
"""Files that it names where it is asked where an issue is."""
VERDICT = '{"reason": "as reported", "same_problem": true}'
DONE = "The tests are written, and fail because of the issue."


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownIssue:
    """What it knows of one instance."""

    instance_id: str
    title: str
    """First line of the issue, by which it knows it again."""
    path: str
    """Test file that it writes."""
    text: str
    ranked: tuple[str, ...]
    """Files that the golden patch changes, and others."""
    wrong: str
    """A fix that does nothing: a remark at the end of the first of these files."""

    @property
    def diff(self) -> str:
        return render([Change(path=self.path, before=None, after=self.text)])

    @property
    def command(self) -> str:
        """Has the file written by a shell."""
        return f"cat > {self.path} <<'END_OF_TESTS'\n{self.text.rstrip()}\nEND_OF_TESTS"


def known_issue(instance: TaskInstance, mirrors: Mirrors) -> KnownIssue:
    """What there is to know of an instance; `BadInput` where its golden tests are not one Python file."""

    def read(path: str) -> bytes | None:
        return mirrors.read_file(instance.repo, instance.base_commit, path)

    golden = read_patch(instance.test_patch)
    applied = apply_to_files(golden, read) if isinstance(golden, Patch) else golden
    changes = applied.changes if isinstance(applied, Applied) else ()
    if len(changes) != 1 or not changes[0].path.endswith(".py") or changes[0].after is None:
        raise BadInput(f"the golden tests of {instance.instance_id} are not one Python file")
    place = PurePosixPath(changes[0].path)
    changed = changed_files(instance.patch)
    beside = [path for path in mirrors.list_paths(instance.repo, instance.base_commit) if _beside(path, changed[0])]
    before = to_text(read(changed[0]) or b"")
    remark = f"{before.rstrip()}\n# Nothing of this helps.\n"
    return KnownIssue(
        instance_id=instance.instance_id,
        title=instance.problem_statement.strip().partition("\n")[0].strip(),
        path=str(place.with_name(f"test_{place.stem.removeprefix('test_')}_again.py")),
        text=changes[0].after,
        ranked=tuple(dict.fromkeys((*changed, *beside)))[:NAMED],
        wrong=render([Change(path=changed[0], before=before, after=remark)]),
    )


def _beside(path: str, other: str) -> bool:
    one, two = PurePosixPath(path), PurePosixPath(other)
    return one.parent == two.parent and one.suffix == ".py" and one.name != "__init__.py"


@dataclass(frozen=True)
class Knowing:
    """The model. What is about no issue that it knows is refused."""

    issues: tuple[KnownIssue, ...]

    def __call__(self, call: ClientRequest) -> Step:
        said = "\n".join(message.text for message in call.messages)
        known = next((one for one in self.issues if one.title in said), None)
        if known is None:
            return Step(fault=Fault.EXHAUSTED)
        if found := _located(known, call.messages[-1].text):
            return text_step(found)
        return _by_tools(known, call) if call.tools else text_step(_in_words(known, call, said))


def _located(known: KnownIssue, last: str) -> str:
    """What the localization agent asks for; empty where nothing of it is asked."""
    if "four keys" in last:
        return json.dumps({"explanation": known.title, "code": [], "errors": [], "paths": []})
    for tool in ("extract_relevant", "get_bm25_top10"):
        if f"{tool}()" in last:
            return json.dumps({"function_call": tool, "args": {}})
    scores = [9 - number for number in range(len(known.ranked))]
    return json.dumps({"ranked_files": known.ranked, "confidence_scores": scores}) if "ranked_files" in last else ""


def _by_tools(known: KnownIssue, call: ClientRequest) -> Step:
    names, turn = {tool.name for tool in call.tools}, _turns(call)
    if "search_code" in names:
        search = calling("search_code", call_id="c0", code="def ", path=known.ranked[0])
        return text_step(f"It is in {known.ranked[0]}.") if turn else Step(reply=search)
    if turn:
        return Step(reply=calling("submit", call_id=f"c{turn}")) if "submit" in names else text_step(DONE)
    return Step(reply=calling("bash", call_id="c0", command=known.command))


def _in_words(known: KnownIssue, call: ClientRequest, said: str) -> str:
    first, turn = call.messages[0].text, _turns(call)
    if "same_problem" in said:
        return VERDICT
    if "```search" in first:
        return f"It is in {known.ranked[0]}." if turn else f'```search\nread_file("{known.ranked[0]}")\n```'
    if "Every reply holds one command" in first:
        return "I am done.\n```bash\nsubmit\n```" if turn else f"I write the tests.\n```bash\n{known.command}\n```"
    if "<patched>" in first:
        return f"<file>{known.path}</file>\n<original></original>\n<patched>\n{known.text}</patched>"
    if "custom diff format" in first:
        return f"```custom-diff\ndiff\n{known.path}\ninsert\nEOF\n{known.text}end diff\n```"
    if "edit blocks" in first:
        return f"edit {known.path}\ninsert at end\n{known.text}end edit"
    if "unified diff" in first:
        return f"```diff\n{known.diff}```"
    written = any(known.path in message.text for message in call.messages if message.role is Role.ASSISTANT)
    return DONE if written else f"{known.path}\n```python\n<<<<<<< SEARCH\n=======\n{known.text}>>>>>>> REPLACE\n```"


def _turns(call: ClientRequest) -> int:
    return sum(message.role is Role.ASSISTANT for message in call.messages)
