"""Where each page is, relative to the site's folder."""

from __future__ import annotations

from tasks.domain.names import file_name

LEADERBOARD = "index.html"
FIGURES = "figures.html"
COMPARISONS = "comparisons.html"
FIXES = "fixes.html"
INSTANCES = "instances.html"
MATRIX = "matrix.html"
SNAPSHOT = "snapshot.html"
GUIDE = "guide.html"


def instance_page(instance_id: str) -> str:
    return f"instance/{file_name(instance_id)}.html"


def method_page(name: str) -> str:
    return f"method/{file_name(name)}.html"


def candidate_page(instance_id: str, candidate_id: str) -> str:
    return f"candidate/{file_name(instance_id)}/{file_name(candidate_id)}.html"


def repair_page(instance_id: str, attempt_id: str) -> str:
    return f"repair/{file_name(instance_id)}/{file_name(attempt_id)}.html"
