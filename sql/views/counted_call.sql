-- Which model reply counts at each position of a method's work, withdrawn instances included?
--
-- Columns of `llm_call`. Paid and replayed calls count alike, so a method's cost does not depend on which run paid
-- first. Failed attempts do not count.
-- If a work was repeated with other prompts, the latest reply at each position counts.
-- kept: beside the runs
-- needs: llm_call
CREATE OR REPLACE VIEW counted_call AS
SELECT *
FROM llm_call
WHERE status IN ('answered', 'replayed') AND instance_id <> ''
QUALIFY row_number() OVER (PARTITION BY work_id, position ORDER BY started_at DESC, call_id) = 1;
