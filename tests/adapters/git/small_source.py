"""git for making the small repository of these tests: no settings of the machine, one date."""

import os
import subprocess
from pathlib import Path

SOURCE_DATE = "1577934245 +0100"


def git(folder: Path, *args: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    env |= {f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env |= {"GIT_AUTHOR_DATE": SOURCE_DATE, "GIT_COMMITTER_DATE": SOURCE_DATE}
    return subprocess.run(
        ["git", *args], cwd=folder, env=env, check=True, capture_output=True, text=True
    ).stdout.strip()
