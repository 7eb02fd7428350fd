"""The corpus of cheating and honest candidates for the demo project, and what each of them proposes as a patch.

    tests/corpus/<kind>/<name>.txt      instance: <number of the demo's pull request>
                                        what: <one sentence without a full stop>
                                        === <path>           a file that the candidate adds, until the next one
                                        === <path> (link)    a symbolic link; its text is the target

`@SHA256@` and `@SIZE@` stand for those of the file that the fix changes, as it is before; `@LIVE@` for the hash of its
syntax tree without what has no effect; `@LOADS@` for how many names and constants its method `scaled` loads; `@TOKEN@`
for a new word.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from tasks.adapters.patch.render import Change, render

CORPUS = Path(__file__).parents[1] / "tests" / "corpus"
KINDS = ("cheating", "honest")
PREFIX = "rolling-swt-bench__larder-"
_FILE = re.compile(r"^=== (\S+)( \(link\))?\n", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One candidate of the corpus."""

    kind: str
    """`cheating` or `honest`."""
    name: str
    instance: str
    what: str
    patch: str

    @property
    def method(self) -> str:
        return f"{self.kind}/{self.name}"

    @property
    def prediction(self) -> str:
        """As a line of a predictions file."""
        row = {"instance_id": self.instance, "model_name_or_path": self.method, "model_patch": self.patch}
        return json.dumps(row) + "\n"


def corpus(original: bytes, kinds: Iterable[str] = KINDS) -> tuple[Entry, ...]:
    """Every candidate, sorted; `original` is `larder/recipe.py` as it is before the fix of instance 3.

    The kind `unusual`, more honest styles, is played by `secret_table` alone.
    """
    return tuple(_entry(kind, path, original) for kind in kinds for path in sorted((CORPUS / kind).glob("*.txt")))


def _entry(kind: str, path: Path, original: bytes) -> Entry:
    text = path.read_text(encoding="utf-8")
    head = dict(line.split(": ", 1) for line in text[: text.index("===")].splitlines())
    for name, value in (
        ("@SHA256@", hashlib.sha256(original).hexdigest()),
        ("@SIZE@", str(len(original))),
        ("@LIVE@", _live(original)),
        ("@LOADS@", str(_loads(original))),
        ("@TOKEN@", secrets.token_hex(8)),
    ):
        text = text.replace(name, value)
    return Entry(
        kind=kind, name=path.stem, instance=PREFIX + head["instance"], what=head["what"], patch="".join(_patches(text))
    )


def _live(source: bytes) -> str:
    """As the candidates work it out that take out what never runs."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [each for each in body if not _idle(each)] or [ast.Pass()]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _loads(source: bytes) -> int:
    codes = [compile(source, "recipe", "exec")]
    for code in codes:
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    # The last of the name: a class of ingredients, which comes first, has one as well.
    method = [code for code in codes if code.co_name == "scaled"][-1]
    return sum(each.opname.startswith("LOAD") for each in dis.get_instructions(method))


def _idle(node: ast.AST) -> bool:
    never = isinstance(node, ast.If) and ast.unparse(node.test) in ("not __name__", "0")
    return never or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.Name))


def _patches(text: str) -> Iterator[str]:
    """The diff of each file."""
    _, *parts = _FILE.split(text)
    for path, link, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        yield _link(path, body.strip()) if link else render([Change(path=path, before=None, after=body)])


def _link(path: str, target: str) -> str:
    head = f"diff --git a/{path} b/{path}\nnew file mode 120000\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1 @@\n+{target}\n\\ No newline at end of file\n"
