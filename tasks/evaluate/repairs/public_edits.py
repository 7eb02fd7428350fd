"""Edits of project files that the public environments of SWE-bench make before an agent starts.

An agent that works in such an environment submits these edits with its own changes, because `git diff` includes both.
The public harness then applies the patch to files that already have the edits, which fails. So it publishes the fix as
not resolved even if the fix is right. Source: the `pre_install` commands of the public environments, such as
`sed -i 's/OLD/NEW/' FILE`.
"""

from __future__ import annotations

from tasks.adapters.patch.model import FilePatch
from tasks.domain.names import InstanceId, RepoName, parse_instance_id

Replacement = tuple[str, str]
"""Text in a line and its replacement; the first occurrence in each line is replaced."""

_HTMLHELP, _SERIALIZING = "sphinxcontrib-htmlhelp", "sphinxcontrib-serializinghtml"
EDITS: dict[tuple[RepoName, str], tuple[Replacement, ...]] = {
    (RepoName("astropy/astropy"), "pyproject.toml"): (
        ('requires = ["setuptools",', 'requires = ["setuptools==68.0.0",'),
    ),
    (RepoName("sphinx-doc/sphinx"), "tox.ini"): (("pytest", "pytest -rA"),),
    (RepoName("sphinx-doc/sphinx"), "setup.py"): (
        ("Jinja2>=2.3", "Jinja2<3.0"),
        ("sphinxcontrib-applehelp", "sphinxcontrib-applehelp<=1.0.7"),
        ("sphinxcontrib-devhelp", "sphinxcontrib-devhelp<=1.0.5"),
        ("sphinxcontrib-qthelp", "sphinxcontrib-qthelp<=1.0.6"),
        ("alabaster>=0.7,<0.8", "alabaster>=0.7,<0.7.12"),
        ("'packaging',", "'packaging', 'markupsafe<=2.0.1',"),
        (_HTMLHELP, f"{_HTMLHELP}<=2.0.4"),
        (_SERIALIZING, f"{_SERIALIZING}<=1.1.9"),
        (f"{_HTMLHELP}>=2.0.0", f"{_HTMLHELP}>=2.0.0,<=2.0.4"),
        (f"{_SERIALIZING}>=1.1.5", f"{_SERIALIZING}>=1.1.5,<=1.1.9"),
    ),
}
"""(repository, file) → replacements in its lines, over all versions of the repository."""


def holds_public_edit(file: FilePatch, instance_id: InstanceId) -> bool:
    """Whether the patch changes a line in the same way as the public environment of the instance."""
    try:
        repo, _ = parse_instance_id(instance_id)
    except ValueError:
        return False
    edits = EDITS.get((repo, file.path), ())
    removed = [line[1:] for hunk in file.hunks for line in hunk.lines if line.startswith("-")]
    added = {line[1:] for hunk in file.hunks for line in hunk.lines if line.startswith("+")}
    return any(line.replace(old, new, 1) in added for line in removed for old, new in edits if old in line)
