-- The golden tests of an instance, as they run.
--
-- One row per instance_key: suite_id, base_files_key, has_base (some of its files exist at the base commit), is_empty.
-- Where a policy made two of them, the one that keeps most files counts.
-- base_files_key  the suite `none` in the same files
-- has_base        some of its files exist at the base commit
-- is_empty        it has no file that a runner is given
-- needs: suite
CREATE OR REPLACE VIEW golden_suite AS
SELECT instance_key, suite_id, base_files_key, len(base_files) > 0 AS has_base, len(files) = 0 AS is_empty
FROM suite
WHERE kind = 'golden'
QUALIFY row_number() OVER (PARTITION BY instance_key ORDER BY len(files) DESC, length(patch) DESC, suite_id) = 1;
