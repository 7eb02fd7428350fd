"""Replies for every branch of every method: well-formed, malformed, partial, refusing, looping, over-long, wrong path,
wrong JSON. They fit any task that has an example test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tasks.adapters.llm.base import Finish, ModelQuestion, Reply, ToolCall
from tasks.adapters.llm.errors import ContextTooLong
from tasks.methods.method import Assignment
from tests.fakes.scripted_model import Script, Step, calling

REFUSAL = "I am sorry, I cannot help with that."
LONG = "I will think about it once more. " * 3_000
TEST = "def test_of_the_issue():\n    assert False, 'as reported'\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One scripted model, and what the method's path has to hold for it."""

    name: str
    script: Script
    path: tuple[str, ...]
    """In this order, other steps between them allowed."""
    patch: bool
    """Whether there is a candidate with a patch."""


def edit(path: str, code: str = TEST, action: str = "insert at end", end: str = "end edit") -> str:
    return f"edit {path}\n{action}\n{code}{end}\n"


def diff(path: str, code: str = TEST) -> str:
    lines = code.splitlines()
    added = "".join(f"+{line}\n" for line in lines)
    return f"```diff\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n{added}```\n"


def block(path: str, old: str = "", new: str = TEST) -> str:
    return f"<file>{path}</file>\n<original>{old}</original>\n<patched>\n{new}</patched>\n"


def shell(command: str) -> str:
    return f"Next.\n\n```bash\n{command}\n```\n"


def cut(text: str) -> Reply:
    return Reply(text=text, finish_reason=Finish.LENGTH)


def paths(assignment: Assignment) -> tuple[str, str]:
    """The test file that is there, and a new one beside it."""
    assert assignment.task.example is not None
    there = assignment.task.example.path
    folder = there.rpartition("/")[0]
    return there, f"{folder}/test_of_the_issue.py".removeprefix("/")


def zero_shot(assignment: Assignment) -> list[Branch]:
    there, new = paths(assignment)
    miscounted = diff(new).replace("+1,2 @@", "+1,9 @@")
    first = next(
        line for line in (assignment.task.example.text if assignment.task.example else "").splitlines() if line
    )
    wrong = f"```diff\n--- a/{there}\n+++ b/{there}\n@@ -1,2 +1,2 @@\n-no such line at all\n+other\n {first}\n```"
    return [
        Branch(name="well-formed", script=[diff(new)], path=("asked", "applied"), patch=True),
        Branch(name="miscounted", script=[miscounted], path=("applied",), patch=True),
        Branch(name="malformed", script=[wrong], path=("does-not-apply",), patch=True),
        Branch(name="refusing", script=[REFUSAL], path=("no-diff",), patch=False),
        Branch(name="over-long", script=[cut(LONG)], path=("cut", "no-diff"), patch=False),
        Branch(name="wrong path", script=[diff("../../x.py")], path=("climbing-path",), patch=True),
        Branch(name="silent", script=[""], path=("empty",), patch=False),
        Branch(
            name="context too long",
            script=[ContextTooLong("too long"), diff(new)],
            path=("context-halved", "asked", "applied"),
            patch=True,
        ),
    ]


def zero_shot_plus(assignment: Assignment) -> list[Branch]:
    there, new = paths(assignment)
    missing = edit(there, TEST, "rewrite test_that_is_not_there_at_all")
    broken = edit(there, "def test_x(:\n")
    partial = cut(f"edit {new}\ninsert\n{TEST}\n\ndef test_more():\n    assert f(")
    return [
        Branch(name="well-formed", script=[edit(there)], path=("asked", "applied"), patch=True),
        Branch(name="new file", script=[edit(new)], path=("applied",), patch=True),
        Branch(name="malformed", script=[broken], path=("code-does-not-parse",), patch=False),
        Branch(
            name="partial", script=[edit(there) + broken], path=("code-does-not-parse", "applied in part"), patch=True
        ),
        Branch(name="over-long", script=[partial], path=("cut", "applied"), patch=True),
        Branch(name="refusing", script=[REFUSAL], path=("no-block",), patch=False),
        Branch(name="wrong path", script=[edit("/etc/x.py")], path=("climbing-path",), patch=False),
        Branch(name="no such definition", script=[missing], path=("no-such-definition",), patch=False),
        Branch(name="silent", script=["\n"], path=("empty-reply",), patch=False),
    ]


def pass_at_5(assignment: Assignment) -> list[Branch]:
    there, new = paths(assignment)
    return [
        Branch(name="well-formed", script=[edit(there)] * 5, path=("applied",), patch=True),
        Branch(
            name="mixed", script=[REFUSAL, edit(new), "", edit("../x.py"), edit(there)], path=("no-block",), patch=True
        ),
        Branch(name="refusing", script=[REFUSAL] * 5, path=("no-block",), patch=False),
        Branch(name="over-long", script=[cut(LONG)] * 5, path=("cut", "no-block"), patch=False),
    ]


def libro(assignment: Assignment) -> list[Branch]:
    _, new = paths(assignment)

    def judged(*verdicts: str, passing: bool = False) -> Callable[[ModelQuestion], Step]:
        """Samples that differ from each other; verdicts in turn."""
        left = list(verdicts)

        def answer(asked: ModelQuestion) -> Step:
            if "same_problem" in asked.last:
                return left.pop(0) if left else verdicts[-1]
            code = TEST.replace("False", "True") if passing else TEST
            return edit(new, code + "    # again\n" * (5 - asked.sample))

        return answer

    yes, no = '{"reason": "it is", "same_problem": true}', 'No. {"reason": "an import", "same_problem": false}'
    return [
        Branch(name="the shortest that fits", script=judged(yes), path=("same-problem", "chose 4"), patch=True),
        Branch(
            name="one fits", script=judged(no, no, yes, no, no), path=("fails", "same-problem", "chose 2"), patch=True
        ),
        Branch(name="none fits", script=judged(no), path=("fails", "chose 4"), patch=True),
        Branch(name="passing", script=judged(no, passing=True), path=("passes", "chose 4"), patch=True),
        Branch(
            name="wrong JSON",
            script=judged("{yes}", "Yes!"),
            path=("no-json", "no-json", "fails", "chose 4"),
            patch=True,
        ),
        Branch(
            name="wrong JSON once",
            script=judged('{"same_problem": "yes"}', yes),
            path=("unreadable-verdict", "same-problem"),
            patch=True,
        ),
        Branch(name="refusing", script=lambda _: REFUSAL, path=("no-block",), patch=False),
    ]


def auto_code_rover(assignment: Assignment) -> list[Branch]:
    there, new = paths(assignment)
    search = calling("search_code", code="import")
    read = calling("read_file", path=there)
    method = calling("search_method", method_name="__init__")
    klass = calling("search_class", class_name="Meta")
    broken = Reply(text="", tool_calls=(ToolCall(call_id="1", name="read_file", arguments="{nope"),))
    unknown = calling("run_shell", command="ls")
    typed = calling("read_file", path=there, start_line="ten")
    done = "It is about the import."
    return [
        Branch(
            name="well-formed",
            script=[search, read, method, klass, done, block(new)],
            path=("search_code", "read_file", "search_method", "search_class", "context-gathered", "applied"),
            patch=True,
        ),
        Branch(
            name="retry",
            script=[done, block(there, "nowhere", "x"), block(new)],
            path=("no-match", "retry", "applied"),
            patch=True,
        ),
        Branch(
            name="malformed thrice",
            script=[done, *["<file>x"] * 3],
            path=("no-block", "retry", "retry", "no-block"),
            patch=False,
        ),
        Branch(
            name="looping",
            script=[*[search] * 10, block(new)],
            path=("search_code", "repeated", "rounds-used-up", "applied"),
            patch=True,
        ),
        Branch(
            name="wrong JSON",
            script=[broken, typed, unknown, done, block(new)],
            path=("bad-arguments", "bad-arguments", "unknown-tool", "applied"),
            patch=True,
        ),
        Branch(name="refusing", script=lambda _: REFUSAL, path=("context-gathered", "no-block", "retry"), patch=False),
        Branch(
            name="over-long",
            script=[done, cut(LONG), block(new)],
            path=("cut", "no-block", "retry", "applied"),
            patch=True,
        ),
        Branch(name="wrong path", script=[done, *[block("../x.py")] * 3], path=("climbing-path",), patch=False),
    ]


def agent(assignment: Assignment) -> list[Branch]:
    _, new = paths(assignment)
    write = shell(f"cat > {new} <<'EOF'\n{TEST}EOF")
    return [
        Branch(
            name="well-formed",
            script=[shell("ls"), write, shell("submit")],
            path=("ran", "ran", "submitted"),
            patch=True,
        ),
        Branch(
            name="no command",
            script=[REFUSAL, write, shell("submit")],
            path=("no-command", "ran", "submitted"),
            patch=True,
        ),
        Branch(
            name="several", script=[write + shell("ls"), shell("submit")], path=("several-commands", "ran"), patch=True
        ),
        Branch(
            name="looping",
            script=[shell("ls")] * 20,
            path=("ran", "looping", "not-submitted", "nothing-changed"),
            patch=False,
        ),
        Branch(name="not submitted", script=[write, *[REFUSAL] * 19], path=("ran", "not-submitted"), patch=True),
        Branch(
            name="over-long",
            script=[shell("seq 20000"), shell("submit")],
            path=("output-shortened", "nothing-changed"),
            patch=False,
        ),
        Branch(
            name="wrong path",
            script=[shell("cat /no/such; exit 9"), shell("submit")],
            path=("ran", "nothing-changed"),
            patch=False,
        ),
        Branch(name="context full", script=[write, ContextTooLong("full")], path=("ran", "context-full"), patch=True),
    ]


BRANCHES: dict[str, Callable[[Assignment], list[Branch]]] = {
    "zero_shot": zero_shot,
    "zero_shot_plus": zero_shot_plus,
    "pass_at_5": pass_at_5,
    "libro": libro,
    "auto_code_rover": auto_code_rover,
    "agent": agent,
}


def follows(path: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    """Whether the steps are in the path, in their order."""
    rest = iter(path)
    return all(step in rest for step in steps)
