"""What people installed into an interpreter itself is out of sight: a later release of the project may be there."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from tasks.adapters.sandbox.base import Job, Mount
from tasks.adapters.sandbox.select import ENTRIES
from tasks.domain.outcome import SandboxKind


@pytest.mark.bubblewrap
def test_a_package_of_the_interpreter_is_not_seen(tmp_path: Path) -> None:
    (entry,) = [entry for entry in ENTRIES if entry.kind is SandboxKind.BUBBLEWRAP]
    if why := entry.why_not():
        pytest.skip(why)
    base = tmp_path / "cpython"
    site = base / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (site / "flask.py").write_text("")
    (base / "lib" / "python3.11" / "os.py").write_text("")
    for name in ("checkout", "out"):
        (tmp_path / name).mkdir()
    job = Job(
        argv=("/bin/sh", "-c", f"ls {site} && ls {site.parent} && touch {site}/new"),
        checkout=tmp_path / "checkout",
        outbox=tmp_path / "out",
        mounts=(Mount(base, PurePosixPath(base), content="cpython-3.11.7"),),
        log=tmp_path / "log",
    )

    finished = entry.make(tmp_path).run(job)

    said = (tmp_path / "log").read_text()
    assert "flask" not in said
    assert "os.py" in said
    assert finished.exit_code != 0, "the empty folder is read-only"


def test_only_of_an_interpreter_is_anything_hidden(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    hidden = {
        content: Mount(tmp_path, PurePosixPath(tmp_path), content=content).hidden
        for content in ("cpython-3.11.7", "environment-0f3a", "")
    }

    assert hidden == {"cpython-3.11.7": (site,), "environment-0f3a": (), "": ()}
