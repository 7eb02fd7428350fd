-- Which method solved which instance, as input of one ability scale over several snapshots, by the grader `for_grader`?
--
-- An instance of several snapshots counts in the first by name, which is the earliest month.
-- Controls are excluded, because `golden` solves everything. Unmeasured and withdrawn instances have no row.
-- Trial instances have no row either: their statement is reconstructed from a git history, not the text of an issue.
-- solved  whether it is solved; with `hold`, whether it is robust (no row where a success was not checked)
-- needs: method_instance, withdrawal, used_instance
CREATE OR REPLACE MACRO ability_cell(for_grader, hold) AS TABLE
SELECT snapshot, instance_id, method, model, CASE WHEN hold THEN robust ELSE solved END AS solved
FROM method_instance(for_grader, 'tests-only')
WHERE snapshot NOT IN (SELECT snapshot FROM withdrawal WHERE instance_id = '')
    AND instance_id NOT IN (SELECT instance_id FROM withdrawal WHERE instance_id <> '')
    AND instance_id NOT IN (SELECT instance_id FROM used_instance WHERE problem_statement_mode = 'reconstructed')
    AND measured AND method NOT IN ('golden', 'nop') AND CASE WHEN hold THEN robust ELSE solved END IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY instance_id, method, model ORDER BY snapshot) = 1
ORDER BY snapshot, instance_id, method, model;
