-- Audit, must be empty: a case that is paired with two cases of one run, or whose partner is not paired with it.
--
-- needs: case_pair
CREATE OR REPLACE VIEW audit_case_pair AS
SELECT instance_key, run_key, case_id, other_run, other_case, pair
FROM case_pair AS a
WHERE pair = 'place' AND (
    SELECT count(*)
    FROM case_pair AS b
    WHERE b.run_key = a.other_run AND b.other_run = a.run_key AND b.other_case = a.case_id AND b.case_id = a.other_case
) <> 1;
