"""Applies all rules to a suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tasks.adapters.patch.apply import Applied, ReadBase, apply_stored
from tasks.domain.candidate import Suite
from tasks.domain.guards import LintFinding
from tasks.domain.names import LineNo, RepoPath
from tasks.integrity.lint import chance, commands, places, runner, source
from tasks.integrity.lint.module import Finding, LintedModule
from tasks.integrity.python_source import PythonSource

Rule = Callable[[LintedModule], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    source.source_inspection,
    source.code_object,
    source.source_file,
    source.module_file,
    source.documentation,
    source.version,
    commands.git_command,
    commands.package_command,
    commands.process,
    commands.network,
    runner.process_exit,
    runner.signal,
    runner.exit_at_import,
    runner.runner_patching,
    runner.loaded_modules,
    runner.runner_internals,
    runner.site_files,
    runner.pytest_hook,
    runner.tracing,
    runner.skip_at_import,
    runner.at_exit,
    runner.hidden_code,
    chance.coin,
    chance.clock,
    places.file_looks,
    places.own_place,
    places.environment_look,
    places.system_path,
)


def lint(text: str, before: str | None) -> tuple[Finding, ...]:
    """Returns the findings in the lines that a suite adds to a file, by line; `before` is None for a new file.

    A file that cannot be parsed gives one finding. The rule is `syntax` if the earlier file could not be parsed either,
    such as a Python 2 file with `print`. Otherwise it is `unreadable`, since the code could hide anything.
    """
    module = LintedModule(text, before)
    if module.error:
        as_before = before is not None and PythonSource(before).error
        rule = "syntax" if as_before else "unreadable"
        return (Finding(line=module.error.lineno or 0, rule=rule, detail=str(module.error)),)
    found = (finding for rule in RULES for finding in rule(module))
    return tuple(sorted(dict.fromkeys(found), key=lambda finding: (finding.line, finding.rule, finding.detail)))


def lint_rows(suite: Suite, read_base: ReadBase) -> tuple[LintFinding, ...]:
    """Returns the findings in every Python file that a suite adds or edits, whether a runner collects it or not."""
    applied = apply_stored(suite.patch, read_base)
    changes = applied.changes if isinstance(applied, Applied) else ()
    return tuple(
        LintFinding(
            suite_id=suite.suite_id,
            instance_key=suite.instance_key,
            path=RepoPath(change.path),
            line=LineNo(finding.line),
            rule=finding.rule,
            detail=finding.detail,
        )
        for change in changes
        if change.after is not None and change.path.endswith(".py")
        for finding in lint(change.after, change.before)
    )
