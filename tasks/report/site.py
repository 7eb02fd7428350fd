"""The folder of a site. A page is written again only when what it shows, or how, is not what it was.

<out>/
├── index.html, figures.html …
├── instance/, method/, candidate/<instance>/
├── figure/                    SVG, PDF and the Vega-Lite of each figure
├── asset/                     style sheet and script
└── built.json                 every file of ours, with the digest of what it was made from
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tasks.domain.errors import UsageError

BUILT = "built.json"


@dataclass(slots=True)
class Site:
    """One build of it."""

    folder: Path
    before: Mapping[str, str]
    """Path → digest, as the last build left them."""
    now: dict[str, str] = field(default_factory=dict)
    written: int = 0

    def put(self, path: str, shown: Any, make: Callable[[], str | bytes]) -> bool:
        """Write the file at `path`, unless it is there and was made from the same; whether it was written."""
        digest = digest_of(shown)
        target = self.folder / path
        if self.before.get(path) == digest and target.exists():
            self.now[path] = digest
            return False
        made = make()
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name}.tmp")
        unfinished.write_bytes(made if isinstance(made, bytes) else made.encode("utf-8", "backslashreplace"))
        unfinished.replace(target)
        self.now[path] = digest
        self.written += 1
        return True

    def forget(self) -> None:
        """Delete the pages that there are no more."""
        for path in self.before.keys() - self.now.keys():
            target = (self.folder / path).resolve()
            if target.is_relative_to(self.folder.resolve()):
                target.unlink(missing_ok=True)

    def note(self, built: Mapping[str, str]) -> None:
        """Write down what there is."""
        (self.folder / BUILT).write_text(json.dumps(built, indent=0, sort_keys=True), "utf-8")


@contextmanager
def open_site(folder: Path) -> Iterator[Site]:
    """The site in `folder`, new or built before. `UsageError` for a folder that holds anything else.

    A build that ends early keeps what it wrote, and the next one goes on there.
    """
    site = _opened(folder)
    try:
        yield site
    except BaseException:
        site.note({**site.before, **site.now})
        raise
    site.forget()
    site.note(site.now)


def _opened(folder: Path) -> Site:
    if (folder / BUILT).exists():
        return Site(folder, json.loads((folder / BUILT).read_text("utf-8")))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is no report", hint="name an empty folder, or one that a report was written to")
    folder.mkdir(parents=True, exist_ok=True)
    return Site(folder, {})


def digest_of(shown: Any) -> str:
    """Of rows, and of the code and the templates that make pages of them."""
    text = json.dumps(shown, sort_keys=True, default=str, ensure_ascii=True)
    return hashlib.sha256(f"{_maker()}\n{text}".encode()).hexdigest()[:32]


@cache
def _maker() -> str:
    """Digest of this package."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*")):
        if path.suffix in (".py", ".j2", ".css", ".js"):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
