-- Which run counts for a test suite on a proposed fix?
--
-- One row per (fix_id, suite_id): the latest run, in any environment and sandbox. Columns of `current_run`.
-- Internal failures do not count. A fix on which the tests do not apply has no row.
-- needs: fix_run, current_run
CREATE OR REPLACE VIEW fix_suite_run AS
SELECT p.fix_id, p.suite_id, p.instance_key, r.run_key, r.status
FROM fix_run AS p
JOIN current_run AS r ON r.run_key = p.run_key AND r.instance_key = p.instance_key
WHERE r.status <> 'unapplied'
QUALIFY row_number() OVER (PARTITION BY p.fix_id, p.suite_id ORDER BY r.finished_at DESC, r.run_key) = 1;
