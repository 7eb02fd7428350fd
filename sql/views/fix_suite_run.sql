-- Which run speaks for one test suite on one proposed fix?
--
-- One row per (fix_id, suite_id): instance_key, run_key and status of the latest run that was made there, in whichever
-- environment and sandbox. Runs that failed for reasons of ours, and fixes that the tests do not apply on, have none.
-- needs: fix_run, current_run
CREATE OR REPLACE VIEW fix_suite_run AS
SELECT p.fix_id, p.suite_id, p.instance_key, r.run_key, r.status
FROM fix_run AS p
JOIN current_run AS r ON r.run_key = p.run_key AND r.instance_key = p.instance_key
WHERE r.status <> 'unapplied'
QUALIFY row_number() OVER (PARTITION BY p.fix_id, p.suite_id ORDER BY r.finished_at DESC, r.run_key) = 1;
