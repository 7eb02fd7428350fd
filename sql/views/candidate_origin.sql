-- Whose is a candidate, and for which instance?
--
-- One row per candidate_id, whatever snapshots it is in: instance_key, instance_id, method, model, sample. They are parts
-- of the id, so they are the same in all rows of `candidate`.
-- needs: candidate
CREATE OR REPLACE VIEW candidate_origin AS
SELECT
    candidate_id,
    any_value(instance_key) AS instance_key,
    any_value(instance_id) AS instance_id,
    any_value(method) AS method,
    any_value(model) AS model,
    any_value(sample) AS sample
FROM candidate
GROUP BY candidate_id;
