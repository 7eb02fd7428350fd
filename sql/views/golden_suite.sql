-- Which suite holds the golden tests of an instance?
--
-- One row per instance_key. If several patch filters made golden suites, the suite with the most files counts.
-- base_files_key  the suite `none` in the same files
-- has_base        some of its files exist at the base commit
-- is_empty        the suite has no file for a test runner
-- needs: suite
CREATE OR REPLACE VIEW golden_suite AS
SELECT instance_key, suite_id, base_files_key, len(base_files) > 0 AS has_base, len(files) = 0 AS is_empty
FROM suite
WHERE kind = 'golden'
QUALIFY row_number() OVER (PARTITION BY instance_key ORDER BY len(files) DESC, length(patch) DESC, suite_id) = 1;
