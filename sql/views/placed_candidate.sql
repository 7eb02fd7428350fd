-- Which candidate has each place?
--
-- Columns of `candidate`; one row per (snapshot, instance_id, method, model, sample): rows with a problem (duplicates)
-- are left out, and of two that were handed in one after the other the later has the place.
-- needs: candidate
CREATE OR REPLACE VIEW placed_candidate AS
SELECT *
FROM candidate
WHERE problem = ''
QUALIFY row_number() OVER (
    PARTITION BY snapshot, instance_id, method, model, sample ORDER BY created_at DESC, candidate_id
) = 1;
