"""A generated store with as many outcomes as are asked for: realistic skew of repositories and suites, and long names.

300 instances of 12 repositories, which hold shares as in SWE-bench (the largest a third); as many methods as make the
outcomes; suites of a log-normal number of cases (median 60, up to thousands) with ids of some 110 characters. Written
as compacted files, as a store that is looked after has them. Each candidate of a model took three calls; one repair
method for twenty of test generation has a fix for every instance, which three suites ran on. There are no traced lines.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from tasks.adapters.store.files.layout import PART, SCHEMA_FOLDER, layout_of
from tasks.adapters.store.files.schema import arrow_schema
from tasks.adapters.store.tables.store import Store
from tasks.domain.ability import MethodAbility, SnapshotDifficulty, TimeEffect
from tasks.domain.candidate import Candidate, Submission, Suite
from tasks.domain.generation import Generation
from tasks.domain.instance import Snapshot, TaskInstance
from tasks.domain.llm import LlmCall
from tasks.domain.model_fact import ModelFact
from tasks.domain.proposed_fix import FixRun, ProposedFix, Repair
from tasks.domain.published import InstanceFact
from tasks.domain.run import CaseOutcome, Run
from tasks.domain.table import table_name

INSTANCES = 300
CASES_MEAN = 104
PACK = "pack-0000000000000000001-aaaa"
CUTOFF = "TIMESTAMPTZ '2025-10-01'"
DAY = "TIMESTAMPTZ '2026-11-01'"
CASE = """'tests/package_' || (c % 7) || '/subpackage/test_module_with_a_long_name.py::TestSomethingInParticular' ||
(c % 23) || '::test_that_a_thing_does_what_it_says' || CASE WHEN c >= cases THEN '_new_' || m ELSE '' END ||
'[parameter-' || c || ']'"""
WORK = "c.method, c.model, 's' AS snapshot, c.instance_id, c.instance_key"
MAKE = """
SELECT setseed(0.14);
CREATE TABLE inst AS
SELECT
    i, 'owner' || r || '/some-project-' || r AS repo,
    'owner' || r || '__some-project-' || r || '-' || (1000 + i) AS instance_id, md5('instance' || i) AS instance_key,
    greatest(5, exp(4.1 + sqrt(-2 * ln(random() + 1e-9)) * cos(6.2831853 * random())))::INT AS cases,
    TIMESTAMPTZ '2025-01-01' + to_days((i * 600 // {instances})::INT) AS created_at
FROM (SELECT i, least(11, floor(12 * power(i / {instances}, 2)))::INT AS r FROM range({instances}) AS x (i));
CREATE TABLE cand AS
SELECT
    i.*, m, md5('candidate' || i.i || '-' || m) AS candidate_id, md5('suite' || i.i || '-' || m) AS suite_id,
    CASE WHEN m = 0 THEN 'golden' ELSE 'method-with-a-name-' || (m % 40) END AS method,
    CASE WHEN m > 0 THEN 'model-' || (m // 40) END AS model,
    CASE WHEN m = 0 THEN 9 ELSE (hash(i.i * 7919 + m) % 10) END AS luck
FROM inst AS i CROSS JOIN range({methods} + 1) AS x (m);
CREATE TABLE fix AS
SELECT i.*, r AS f, md5('fix' || i.i || '-' || r) AS fix_id, hash(i.i * 104729 + r) % 10 < 5 AS good
FROM inst AS i CROSS JOIN range({repairs}) AS x (r);
CREATE TABLE the_run AS
SELECT
    md5(suite_id || state || variant) AS run_key, instance_key, instance_id, repo, suite_id, state, variant, luck, m,
    NULL AS fix_id, false AS good, CASE WHEN m = 0 THEN 'golden' ELSE 'candidate' END AS kind, cases, 2 AS own
FROM cand
CROSS JOIN (VALUES ('before'), ('after')) AS s (state)
CROSS JOIN (VALUES ('plain'), ('repeat')) AS v (variant)
WHERE variant = 'plain' OR luck >= 7
UNION ALL
SELECT
    md5(instance_key || state || 'none'), instance_key, instance_id, repo, NULL, state, 'plain', 0, -1,
    NULL, false, 'none', cases, 0
FROM inst CROSS JOIN (VALUES ('before'), ('after')) AS s (state)
UNION ALL
SELECT
    md5(c.suite_id || f.fix_id), c.instance_key, c.instance_id, c.repo, c.suite_id, 'before', 'proposed', c.luck, c.m,
    f.fix_id, f.good, CASE WHEN m = 0 THEN 'golden' ELSE 'candidate' END, c.cases, 2
FROM cand AS c JOIN fix AS f ON f.i = c.i
WHERE c.m < 3;
"""
ROWS: dict[type, str] = {
    Snapshot: "SELECT 's' AS snapshot, {instances} AS instances, '' AS content, {day} AS created_at",
    ModelFact: "SELECT DISTINCT model, 'p' AS provider, {cutoff} AS cutoff FROM cand WHERE model IS NOT NULL",
    TaskInstance: "SELECT 's' AS snapshot, repo, instance_id, instance_key, created_at, "
    "repeat('x', 2000) AS patch, repeat('word ', 300) AS problem_statement, "
    "list({case} ORDER BY c) FILTER (c >= cases) AS FAIL_TO_PASS, "
    "list({case} ORDER BY c) FILTER (c < cases AND c % 40 <> 3 AND c % 97 <> 5) AS PASS_TO_PASS "
    "FROM (SELECT *, 0 AS m, unnest(range(cases + 2)) AS c FROM inst) "
    "GROUP BY repo, instance_id, instance_key, created_at",
    InstanceFact: "SELECT instance_key, instance_id, (50 + hash(i) % 400)::BIGINT AS statement_words, "
    "900 AS source_files, 90000 AS source_lines, 1 AS patch_files, 0 AS patch_new_files, 2 AS patch_hunks, "
    "9 AS patch_added, 3 AS patch_removed, 1 AS test_files FROM inst",
    Candidate: "SELECT candidate_id, 's' AS snapshot, instance_id, instance_key, method, model, 0 AS sample, "
    "repeat(candidate_id, 60) AS patch, 'verified' AS provenance, '' AS problem, {day} AS created_at FROM cand",
    Submission: "SELECT candidate_id, instance_key, instance_id, 'tests-only' AS policy, suite_id, "
    "true AS well_formed, '' AS reason FROM cand",
    Suite: "SELECT suite_id, instance_key, instance_id, CASE WHEN m = 0 THEN 'golden' ELSE 'candidate' END AS kind, "
    "repeat(suite_id, 60) AS patch, ['tests/test_a.py'] AS files, ['tests/test_a.py'] AS base_files, "
    "md5(instance_key || 'files') AS base_files_key FROM cand",
    Generation: "SELECT md5('work' || candidate_id) AS generation_id, {work}, 'config' AS config_key, "
    "'unit_test' AS mode, []::VARCHAR[] AS given, 0 AS sample, candidate_id, 'candidate' AS status, "
    "[]::VARCHAR[] AS path, 0 AS retries, []::VARCHAR[] AS reasons, 3 AS calls, 60.0 + luck AS seconds, "
    "{day} AS started_at, {day} AS finished_at FROM cand AS c WHERE model IS NOT NULL",
    LlmCall: "SELECT md5(candidate_id || k) AS call_id, md5(candidate_id || k) AS call_key, "
    "md5('work' || candidate_id) AS work_id, k AS position, 1 AS attempt, 'answered' AS status, {work}, "
    "0 AS work_sample, 0 AS sample, 0.2 AS temperature, 9000 AS tokens_in, 700 AS tokens_out, 0.01 AS cost_usd, "
    "20.0 AS seconds, 0.0 AS waited_s, {day} AS started_at, {day} AS finished_at "
    "FROM cand AS c CROSS JOIN range(3) AS x (k) WHERE model IS NOT NULL",
    Repair: "SELECT md5('repair' || fix_id) AS repair_id, 's' AS snapshot, instance_id, instance_key, "
    "'repair-method-' || f AS method, 'model-0' AS model, 0 AS sample, repeat(fix_id, 60) AS patch, fix_id, "
    "false AS touches_tests, []::VARCHAR[] AS stripped, 'method-with-a-name-1@model-0' AS tests, "
    "(1 + hash(fix_id) % 4)::BIGINT AS iteration, 0.5 AS cost_usd, 0.1 AS tests_usd, 'verified' AS provenance, "
    "{day} AS created_at FROM fix",
    ProposedFix: "SELECT fix_id, instance_key, instance_id, repeat(fix_id, 60) AS patch, '' AS problem, "
    "{day} AS created_at FROM fix",
    FixRun: "SELECT fix_id, instance_key, instance_id, suite_id, run_key FROM the_run WHERE fix_id IS NOT NULL",
    MethodAbility: "SELECT DISTINCT g.grader, g.guarded, method, model, 1 AS part, 300 AS instances, 90 AS solved, "
    "0.1 AS ability, -0.2 AS low, 0.4 AS high, 200 AS times, {day} AS fitted_at FROM cand CROSS JOIN {graders} AS g "
    "WHERE model IS NOT NULL",
    SnapshotDifficulty: "SELECT g.grader, g.guarded, 's' AS snapshot, 1 AS part, 300 AS instances, 0.0 AS difficulty, "
    "0.0 AS low, 0.0 AS high, 1.0 AS spread, {day} AS fitted_at FROM {graders} AS g",
    TimeEffect: "SELECT DISTINCT g.grader, g.guarded, 's' AS snapshot, method, model, 300 AS instances, "
    "12 AS repositories, 0.1 AS effect, -0.2 AS low, 0.4 AS high, 0.6 AS p, 1.0 AS spread, {day} AS fitted_at "
    "FROM cand CROSS JOIN {graders} AS g WHERE model IS NOT NULL",
    Run: "SELECT run_key, instance_key, instance_id, repo, 'env' AS env_id, kind AS suite_kind, suite_id, "
    "state AS code_state, ['tests/test_a.py'] AS files, md5(instance_key || 'files') AS files_key, 'none' AS tracer, "
    "1 AS repeat, 'bubblewrap' AS sandbox, 'completed' AS status, '' AS detail, cases + own AS cases, variant, "
    "1.2 AS wall_s, 0.3 AS setup_s, false AS project_dirty, "
    "'v' AS runner_version, {day} AS started_at, {day} AS finished_at FROM the_run",
    CaseOutcome: "SELECT run_key, {case} AS case_id, "
    "'tests/package_' || (c % 7) || '/subpackage/test_module_with_a_long_name.py' AS path, "
    "'TestSomethingInParticular' || (c % 23) || '.test_that_a_thing_does_what_it_says' AS qualname, case_id AS label, "
    "c AS position, 'call' AS phase, CASE WHEN c < cases AND c % 40 = 3 THEN 'skipped' "
    "WHEN c < cases AND c % 97 = 5 THEN 'failed' WHEN c < cases THEN 'passed' "
    "WHEN luck < 3 THEN 'passed' WHEN variant = 'proposed' AND good THEN 'passed' "
    "WHEN state = 'before' OR luck < 7 THEN 'failed' WHEN luck = 7 AND c > cases THEN 'skipped' ELSE 'passed' END "
    "AS outcome, 0.01 AS duration_s, '' AS message "
    "FROM (SELECT *, unnest(range(cases + own)) AS c FROM the_run {repo})",
}
"""Table → what to fill it with; columns that are not named are null, or empty text. Graders differ about a suite with
`luck` 7: one of its two cases is skipped with the fix."""
GRADERS = """(SELECT grader, guarded FROM (VALUES ('paper'), ('swt_bench'), ('swt_bench_2024')) AS a (grader)
CROSS JOIN (VALUES (true), (false)) AS b (guarded))"""


def write_store(root: Path, outcomes: int) -> None:
    """About so many outcomes; the same number always makes the same rows."""
    methods = max(1, round(outcomes / CASES_MEAN / INSTANCES / 2.8))
    store = Store(str(root))
    store.seed()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"SET memory_limit = '6GB'; SET temp_directory = '{root.parent / 'spilled'}'")
        repairs = max(1, methods // 20)
        for statement in MAKE.format(instances=INSTANCES, methods=methods, repairs=repairs).split(";"):
            if statement.strip():
                connection.execute(statement)
        repos = [row[0] for row in connection.sql("SELECT DISTINCT repo FROM inst ORDER BY 1").fetchall()]
        for row_type, query in ROWS.items():
            by_repo = row_type in (Run, CaseOutcome)
            for repo in repos if by_repo else [""]:
                only = f"WHERE repo = '{repo}'" if repo else ""
                words = {"instances": INSTANCES, "cutoff": CUTOFF, "day": DAY, "case": CASE, "work": WORK}
                rows = query.format(**words, graders=GRADERS, repo=only)
                if row_type is Run:
                    rows = f"{rows} {only}"
                folder = f"repo={repo.replace('/', '__')}" if by_repo else f"{layout_of(row_type).folder}=all"
                _write(connection, row_type, rows, root / table_name(row_type) / folder)


def _write(connection: duckdb.DuckDBPyConnection, row_type: type, rows: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    assert SCHEMA_FOLDER not in str(folder)
    connection.register("empty", arrow_schema(row_type).empty_table())
    columns = []
    for field in arrow_schema(row_type):
        text = f"coalesce({field.name}, '')" if str(field.type) == "string" and not field.nullable else field.name
        columns.append(f'{text.replace(field.name, chr(34) + field.name + chr(34))} AS "{field.name}"')
    filled = f"SELECT {', '.join(columns)}, '{PACK}' AS {PART} FROM (FROM empty UNION ALL BY NAME {rows})"
    connection.execute(f"COPY ({filled}) TO '{folder}/{PACK}.parquet' (FORMAT parquet, COMPRESSION zstd)")
