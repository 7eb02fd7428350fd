"""What the robustness checks cost for each would-be success, as a ratio to what it costs without them.

    python -m benchmarks.guard_cost --database data/swt.duckdb --snapshot lite

Reads the runs of an evaluation with checks. For each suite of a candidate that some grader calls solved: CPU seconds of
the process trees in the sandbox, of the runs that judge it (both code states, and suite `none` on both where it edits
files) and of its checks. `first` adds the golden runs on decoys of the instance, which its first success pays for.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tasks.adapters.store.tables.latest import literal
from tasks.adapters.store.views.database import query
from tasks.adapters.tabular import text_table

COST = """
WITH success AS (
    SELECT DISTINCT v.candidate_id, v.policy, s.suite_id, t.repo, v.instance_key
    FROM verdict AS v
    JOIN submission AS s USING (candidate_id, policy)
    JOIN task_instance AS t ON t.instance_key = v.instance_key AND t.snapshot = v.snapshot
    WHERE v.snapshot = {snapshot} AND v.solved AND v.method <> 'golden'
    QUALIFY row_number() OVER (PARTITION BY s.suite_id ORDER BY v.candidate_id, v.policy) = 1
),
judging AS (
    SELECT s.suite_id, count(*) AS runs, sum(r.cpu_s) AS cpu, sum(r.setup_s) AS setup
    FROM success AS s
    JOIN submission_cell AS c ON c.candidate_id = s.candidate_id AND c.policy = s.policy
    JOIN run AS r ON r.run_key = coalesce(c.traced_run_key, c.run_key)
    WHERE c.side IN ('candidate', 'none')
    GROUP BY s.suite_id
),
checking AS (
    SELECT s.suite_id, count(*) AS runs, sum(r.cpu_s) AS cpu, sum(r.setup_s) AS setup
    FROM success AS s
    JOIN (
        SELECT candidate_id, policy, run_key FROM guard_run
        UNION ALL
        SELECT b.candidate_id, b.policy, f.run_key
        FROM submission AS b
        JOIN chosen_decoy AS d ON d.instance_key = b.instance_key
        JOIN fix_suite_run AS f ON f.fix_id = d.fix_id AND f.suite_id = b.suite_id
    ) AS g ON g.candidate_id = s.candidate_id AND g.policy = s.policy
    JOIN run AS r ON r.run_key = g.run_key
    GROUP BY s.suite_id
),
trying AS (
    SELECT d.instance_key, sum(r.cpu_s) AS cpu
    FROM decoy_status AS d JOIN run AS r ON r.run_key = d.run_key
    GROUP BY d.instance_key
)
SELECT
    coalesce(s.repo, 'all') AS repository,
    count(*) AS successes,
    round(avg(j.runs), 2) AS judging_runs,
    round(avg(g.runs), 2) AS check_runs,
    round(avg(j.cpu), 2) AS judging_cpu_s,
    round(avg(g.cpu), 2) AS check_cpu_s,
    round(sum(g.cpu) / sum(j.cpu), 2) AS checks_to_judging,
    round((sum(g.cpu) + sum(t.cpu)) / sum(j.cpu), 2) AS first,
    round(avg(j.setup), 2) AS judging_setup_s,
    round(avg(g.setup), 2) AS check_setup_s
FROM success AS s
JOIN judging AS j USING (suite_id)
JOIN checking AS g USING (suite_id)
LEFT JOIN trying AS t USING (instance_key)
GROUP BY GROUPING SETS ((s.repo), ())
ORDER BY repository = 'all', repository
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", type=Path, required=True)
    parser.add_argument("--snapshot", required=True)
    given = parser.parse_args()
    print(text_table(query(given.database, COST.format(snapshot=literal(given.snapshot)))))


if __name__ == "__main__":
    main()
