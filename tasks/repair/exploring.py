"""What every sub-agent may do with a repository: view a file, find a keyword, show folders (the paper, section 3.1)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tasks.adapters.llm.base import ToolSpec
from tasks.adapters.workbench.base import Workbench
from tasks.methods.conversation import Unusable
from tasks.methods.prompts import excerpt
from tasks.methods.tools import ModelTool, tool_spec

VIEW_LINES = 200
HITS = 50
ENTRIES = 200
HIT_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Explorer:
    """Tools over one workbench. None of them changes anything."""

    bench: Workbench

    @property
    def tools(self) -> dict[str, ModelTool]:
        return {spec.name: ModelTool(spec, getattr(self, spec.name)) for spec in SPECS}

    def view_file(self, path: str, start_line: int = 1) -> str:
        """Up to 200 lines of a file, numbered."""
        text = self.bench.read(path)
        if text is None:
            name = "/" + path.rpartition("/")[2]
            near = [known for known in self.bench.paths if f"/{known}".endswith(name)][:HITS]
            raise Unusable("no-such-file", f"There is no file {path}." + (f" There is {', '.join(near)}." * bool(near)))
        return excerpt(path, text.splitlines(), max(1, start_line), VIEW_LINES)

    def find_keyword(self, keyword: str, path: str = "") -> str:
        """Lines that hold a keyword, below a folder or in a file."""
        hits = self.bench.search(keyword, under=path.strip("/"), limit=HITS + 1)
        if not hits:
            return f"{keyword!r} is nowhere{f' below {path}' if path else ''}."
        lines = [f"{hit.path}:{hit.line}: {hit.text.strip()[:HIT_CHARACTERS]}" for hit in hits[:HITS]]
        more = ["There are more: name a folder or a file."] if len(hits) > HITS else []
        return "\n".join([*lines, *more])

    def show_folder(self, path: str = "") -> str:
        """What lies in a folder; of folders in it how many files they hold."""
        return folder(self.bench, path)


def folder(bench: Workbench, path: str = "") -> str:
    """The listing of one folder of the base commit, `name` or `name/ (files)` a line."""
    prefix = f"{path.strip('/')}/" if path.strip("/.") else ""
    inside = [known.removeprefix(prefix) for known in bench.paths if known.startswith(prefix)]
    if not inside:
        return f"There is no folder {path}."
    counts = Counter(name.partition("/")[0] for name in inside if "/" in name)
    names = [f"{name}/ ({number} files)" for name, number in sorted(counts.items())]
    names += sorted(name for name in inside if "/" not in name)
    rest = len(names) - ENTRIES
    return "\n".join([*names[:ENTRIES], *([f"[… {rest} more entries]"] if rest > 0 else [])])


SPECS: tuple[ToolSpec, ...] = (
    tool_spec(
        "view_file", f"Up to {VIEW_LINES} lines of a file, numbered.", ["path"],
        path="From the root of the repository.", start_line="First line, 1-based.",
    ),
    tool_spec(
        "find_keyword", "Lines that hold a keyword.", ["keyword"],
        keyword="As it is written.", path="Folder or file to look in; everywhere by default.",
    ),
    tool_spec("show_folder", "What lies in a folder.", [], path="From the root, which is the default."),
)  # fmt: skip
