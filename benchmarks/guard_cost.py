"""What the guards cost for each would-be success, as a ratio to what it costs without them.

    python -m benchmarks.guard_cost --database data/swt.duckdb --snapshot lite [--edited]

Reads the runs of an evaluation that was made with guards. For each suite that some grader calls solved: CPU seconds of
its whole process trees in the sandbox, and the seconds of making the trees, of the runs that judge it (both states, and
suite `none` on both where it edits files) and of the runs that guard it.
`--edited` leaves out repeats, which a store that was guarded by earlier code has besides.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tasks.adapters.store.database import query
from tasks.adapters.store.latest import literal
from tasks.adapters.tabular import text_table

COST = """
WITH success AS (
    SELECT DISTINCT v.candidate_id, v.policy, s.suite_id, t.repo
    FROM verdict AS v
    JOIN submission AS s USING (candidate_id, policy)
    JOIN task_instance AS t ON t.instance_key = v.instance_key AND t.snapshot = v.snapshot
    WHERE v.snapshot = {snapshot} AND v.solved
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
guarding AS (
    SELECT s.suite_id, count(*) AS runs, sum(r.cpu_s) AS cpu, sum(r.setup_s) AS setup
    FROM success AS s
    JOIN guard_run AS g ON g.candidate_id = s.candidate_id AND g.policy = s.policy
    JOIN run AS r ON r.run_key = g.run_key
    WHERE g.guard <> 'repeat' OR NOT {edited}
    GROUP BY s.suite_id
)
SELECT
    coalesce(s.repo, 'all') AS repository,
    count(*) AS successes,
    round(avg(j.runs), 2) AS judging_runs,
    round(avg(g.runs), 2) AS guard_runs,
    round(avg(j.cpu), 2) AS judging_cpu_s,
    round(avg(g.cpu), 2) AS guard_cpu_s,
    round((sum(j.cpu) + sum(g.cpu)) / sum(j.cpu), 2) AS guarded_to_unguarded,
    round(avg(j.setup), 2) AS judging_setup_s,
    round(avg(g.setup), 2) AS guard_setup_s
FROM success AS s JOIN judging AS j USING (suite_id) JOIN guarding AS g USING (suite_id)
GROUP BY GROUPING SETS ((s.repo), ())
ORDER BY repository = 'all', repository
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", type=Path, required=True)
    parser.add_argument("--snapshot", required=True)
    parser.add_argument("--edited", action="store_true", help="without repeats")
    given = parser.parse_args()
    print(text_table(query(given.database, COST.format(snapshot=literal(given.snapshot), edited=given.edited))))


if __name__ == "__main__":
    main()
