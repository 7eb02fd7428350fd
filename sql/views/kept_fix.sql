-- Which fixes do the tests of some method accept, with the keys of a repairs file?
--
-- One row per fix of a snapshot that the tests of at least one method accept.
-- model_name_or_path  the repair method
-- model               of the repair
-- model_patch         the fix
-- kept_by             names of the test generation methods that accept it
-- robust_by           those whose tests pass their robustness checks on it
-- needs: repair_kept
CREATE OR REPLACE VIEW kept_fix AS
SELECT
    snapshot, repair_id, instance_id, repair AS model_name_or_path, repair_model AS model, sample,
    patch AS model_patch, bool_or(resolved) AS resolved, any_value(status) AS status,
    any_value(touches_tests) AS touches_tests,
    list(name ORDER BY name) AS kept_by, list(name ORDER BY name) FILTER (robust) AS robust_by
FROM repair_kept
WHERE kept
GROUP BY ALL;
