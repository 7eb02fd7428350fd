"""A checkout, an outbox, and Python programs as jobs of a sandbox."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tasks.adapters.sandbox.base import Finished, Job, Mount, Sandbox
from tasks.domain.run import Limits

PREFIX = Path(sys.base_prefix).resolve()
PYTHON = str(PREFIX / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")


@dataclass
class Bench:
    """Runs programs in one sandbox, with the interpreter of this test run mounted at its own path."""

    sandbox: Sandbox
    root: Path

    @property
    def checkout(self) -> Path:
        return self.root / "checkout"

    @property
    def outbox(self) -> Path:
        return self.root / "outbox"

    @property
    def log(self) -> Path:
        return self.root / "log"

    def beside(self, name: str) -> Bench:
        """Another bench for the same sandbox."""
        (self.root / name).mkdir()
        return new_bench(self.sandbox, self.root / name)

    def job(
        self, *argv: str, mounts: tuple[Mount, ...] = (), env: dict[str, str] | None = None, **limits: float
    ) -> Job:
        interpreter = () if PREFIX.is_relative_to("/usr") else (Mount(PREFIX, PurePosixPath(PREFIX)),)
        return Job(
            argv=argv,
            checkout=self.checkout,
            outbox=self.outbox,
            env=env or {},
            mounts=(*interpreter, *mounts),
            limits=Limits(**({"wall_s": 30.0} | limits)),  # type: ignore[arg-type]
            log=self.log,
        )

    def python(self, code: str, *words: str, **rest: object) -> Finished:
        """Run a program as `job.py` of the checkout; `words` are on its command line."""
        (self.checkout / "job.py").write_text(textwrap.dedent(code))
        return self.sandbox.run(self.job(PYTHON, "-ISu", "job.py", *words, **rest))  # type: ignore[arg-type]

    def program(self, code: str, *words: str) -> Job:
        """A job that runs a program which lies nowhere."""
        return self.job(PYTHON, "-ISuc", textwrap.dedent(code), *words)

    def said(self) -> str:
        return self.log.read_text()

    def out(self) -> str:
        """The folder that leaves, as the job sees it."""
        return str(self.sandbox.guest(self.outbox, checkout=self.checkout, outbox=self.outbox))


def new_bench(sandbox: Sandbox, root: Path) -> Bench:
    made = Bench(sandbox, root)
    made.checkout.mkdir()
    made.outbox.mkdir()
    return made
