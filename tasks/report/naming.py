"""Where each page is, relative to the site's folder.

Names come from strangers: what is no plain letter is left out, and a digest tells those apart that became alike.
"""

from __future__ import annotations

import hashlib
import re

LEADERBOARD = "index.html"
FIGURES = "figures.html"
COMPARISONS = "comparisons.html"
FIXES = "fixes.html"
INSTANCES = "instances.html"
MATRIX = "matrix.html"
SNAPSHOT = "snapshot.html"
GUIDE = "guide.html"

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


def file_name(name: str) -> str:
    """A name that any file system, address and attribute takes as it is."""
    if _PLAIN.fullmatch(name):
        return name
    kept = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:60]
    return f"{kept or 'x'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def instance_page(instance_id: str) -> str:
    return f"instance/{file_name(instance_id)}.html"


def method_page(name: str) -> str:
    return f"method/{file_name(name)}.html"


def candidate_page(instance_id: str, candidate_id: str) -> str:
    return f"candidate/{file_name(instance_id)}/{file_name(candidate_id)}.html"


def repair_page(instance_id: str, attempt_id: str) -> str:
    return f"repair/{file_name(instance_id)}/{file_name(attempt_id)}.html"
