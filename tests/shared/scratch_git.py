"""git for making small repositories in tests: no settings of the machine, one author, one date."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

DATE = "1577934245 +0100"


def git(folder: Path, *args: str, date: str = DATE) -> str:
    """What `git args…` prints in `folder`."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{who}_NAME": "x", f"GIT_{who}_EMAIL": "x@example.org", f"GIT_{who}_DATE": date}
    done = subprocess.run(["git", *args], cwd=folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()
