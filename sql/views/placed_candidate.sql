-- Which candidate counts for each snapshot, instance, method, model and sample?
--
-- Columns of `candidate`. One row per (snapshot, instance_id, method, model, sample). Rows with a problem (duplicates)
-- are excluded. Of several submissions the latest counts.
-- needs: candidate
CREATE OR REPLACE VIEW placed_candidate AS
SELECT *
FROM candidate
WHERE problem = ''
QUALIFY row_number() OVER (
    PARTITION BY snapshot, instance_id, method, model, sample ORDER BY created_at DESC, candidate_id
) = 1;
