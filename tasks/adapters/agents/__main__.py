"""Installs agents: `python -m tasks.adapters.agents NAME… [--cache data/cache]`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tasks.adapters.agents.catalogue import AGENTS, agent_named
from tasks.adapters.agents.install import Installer
from tasks.domain.errors import SwtError


def main(words: list[str]) -> int:
    """1 where one of them could not be installed."""
    parser = argparse.ArgumentParser(prog="python -m tasks.adapters.agents")
    parser.add_argument("names", nargs="+", metavar="NAME", help=", ".join(agent.name for agent in AGENTS))
    parser.add_argument("--cache", type=Path, default=Path("data/cache"))
    given = parser.parse_args(words)
    installer = Installer(folder=given.cache / "agents", environ=os.environ, sources=given.cache / "mirrors")
    failed = 0
    for name in given.names:
        try:
            made = installer.install(agent_named(name))
        except SwtError as error:
            failed = 1
            print(f"error[{error.slug}]: {name}: {error}\nhint: {error.hint}", file=sys.stderr)
        else:
            print(f"{name}: {made.root} ({len(made.lock)} packages, {made.seconds:g} s)")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
