"""The rules of the filter, in the order of the funnel. A pull request gets a rejection for every one that it fails.

A rule is two SQL expressions over `facts` (facts.py). Adding one is a line here and a line in `sql/tables/funnel.sql`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One question that a pull request has to pass."""

    name: str
    asks: str
    fails: str
    """SQL condition; null counts as not failing."""
    found: str
    """SQL text: the fact that decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLimits:
    """How large and how small a pull request and its statement may be."""

    max_source_files: int = 15
    max_source_lines: int = 1500
    """Added and removed, in files that are not tests."""
    max_test_lines: int = 3000
    min_statement_words: int = 10
    max_statement_words: int = 5000
    licences: tuple[str, ...] = (
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "GPL-2.0-or-later",
        "LicenseRef-Matplotlib",
        "MIT",
    )
    """SPDX identifiers under which code may be handed on, with its licence. Matplotlib's is much like Python's."""


RULES: tuple[Rule, ...] = (
    Rule("merged", "Was it merged?", "merged_at IS NULL", "'not merged'"),
    Rule(
        "in_window",
        "Was it merged since the day from which on pull requests are asked for?",
        "merged_at < asked_since",
        "'merged on ' || strftime(merged_at, '%Y-%m-%d')",
    ),
    Rule("default_branch", "Into the default branch?", "base_branch <> default_branch", "'into ' || base_branch"),
    Rule(
        "not_a_bot",
        "Written by a person?",
        r"author_kind = 'Bot' OR regexp_matches(author, '(\[bot\]|[-_]bot)$', 'i')",
        "'by ' || coalesce(author, '?')",
    ),
    Rule(
        "linked_issue",
        "Does it close an issue of this repository that was opened before it?",
        "usable_links = 0",
        "CASE WHEN links = 0 THEN 'no link' ELSE links || ' unusable: ' || link_problems END",
    ),
    Rule("test_file", "Does it add or change a test file?", "test_files = 0", "files || ' files, none a test'"),
    Rule("source_file", "Does it change a Python file that is no test?", "source_files = 0", "files || ' files'"),
    Rule(
        "size",
        "Is it of a size that one issue explains?",
        "all_source_files > max_source_files OR source_lines > max_source_lines OR test_lines > max_test_lines",
        "all_source_files || ' source files, ' || source_lines || ' lines, ' || test_lines || ' of tests'",
    ),
    Rule(
        "not_a_revert",
        "Is it new work, and not an earlier change undone?",
        "undoes IS NOT NULL OR says_revert",
        "coalesce('undoes #' || undoes, 'says so')",
    ),
    Rule(
        "not_landed_before",
        "Is it new work, and not a backport or a change that landed before?",
        "repeats IS NOT NULL OR says_backport",
        "coalesce('same change as #' || repeats, 'says so')",
    ),
    Rule(
        "statement_length",
        "Does the issue say something, and not everything?",
        "statement_words NOT BETWEEN min_statement_words AND max_statement_words",
        "statement_words || ' words'",
    ),
    Rule(
        "licence",
        "May the code be handed on, by our list and by GitHub?",
        "NOT list_contains(licences, licence) OR other_licence IS NOT NULL",
        "licence || coalesce(' by our list, ' || other_licence || ' by GitHub', '')",
    ),
    Rule("base_verified", "Do git's counts equal GitHub's?", "base_verified = ''", "base_problem"),
    Rule(
        "patch_reproduces",
        "Do both halves of the patch, applied to the base, make the merged tree?",
        "NOT reproduces",
        "'another tree'",
    ),
)
