-- The reply that counts at each place of a method's work, of withdrawn instances too.
--
-- Columns of `llm_call`. A call that was paid for and one that was replayed count alike, since a method costs what it
-- costs whoever paid first; attempts that failed do not count. Of a work that was done again with other prompts, the
-- latest reply at each position counts.
-- kept: beside the runs
-- needs: llm_call
CREATE OR REPLACE VIEW counted_call AS
SELECT *
FROM llm_call
WHERE status IN ('answered', 'replayed') AND instance_id <> ''
QUALIFY row_number() OVER (PARTITION BY work_id, position ORDER BY started_at DESC, call_id) = 1;
