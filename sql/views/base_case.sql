-- How many cases do the repository's own tests in the golden files have before the fix?
--
-- One row per instance whose golden files exist at the base commit and ran there.
-- cases  distinct cases in that run
-- kept: beside the runs
-- needs: golden_suite, settled_run, case_outcome
CREATE OR REPLACE VIEW base_case AS
SELECT g.instance_key, count(DISTINCT o.case_id) AS cases
FROM golden_suite AS g
JOIN settled_run AS r ON r.instance_key = g.instance_key AND r.suite_ref = g.base_files_key AND r.code_state = 'before'
JOIN case_outcome AS o ON o.run_key = r.run_key
WHERE g.has_base
GROUP BY g.instance_key;
