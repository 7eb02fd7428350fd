-- Which candidates does a predictions file hold, with the keys that the public harness reads?
--
-- The controls are among them; `swt export predictions` leaves them out unless they are asked for by name.
-- model_name_or_path  the method
-- model_patch         the candidate
-- date                when it was made, in ISO 8601
-- needs: counted_candidate
CREATE OR REPLACE VIEW exported_prediction AS
SELECT
    snapshot, instance_id, method AS model_name_or_path, patch AS model_patch, model, sample,
    CASE WHEN made_at IS NOT NULL THEN strftime(made_at, '%Y-%m-%dT%H:%M:%S.%f+00:00') END AS date
FROM counted_candidate;
