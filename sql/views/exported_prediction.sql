-- Which candidates does a predictions file contain, with the keys that the public harness reads?
--
-- The controls are included. `swt export predictions` excludes them unless the user names them.
-- model_name_or_path  the method
-- model_patch         the candidate
-- date                creation time of the candidate, in ISO 8601
-- needs: counted_candidate
CREATE OR REPLACE VIEW exported_prediction AS
SELECT
    snapshot, instance_id, method AS model_name_or_path, patch AS model_patch, model, sample,
    CASE WHEN made_at IS NOT NULL THEN strftime(made_at, '%Y-%m-%dT%H:%M:%S.%f+00:00') END AS date
FROM counted_candidate;
