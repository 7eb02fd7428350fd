-- Which method wrote each candidate, and for which instance?
--
-- One row per candidate_id, independent of its snapshots. All other columns are parts of the id, so every row of
-- `candidate` with that id agrees.
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
