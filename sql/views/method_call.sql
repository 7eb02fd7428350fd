-- What each method asked its models, once for each place in its work: the calls that make up what a method costs.
--
-- Columns of `llm_call`. A call that was paid for and one that was replayed count alike, since a method costs what it
-- costs whoever paid first; attempts that failed do not count. Of a work that was done again with other prompts, the
-- latest reply at each position counts. Withdrawn instances are left out.
-- needs: llm_call, withdrawn_instance
CREATE OR REPLACE VIEW method_call AS
SELECT *
FROM llm_call ANTI JOIN withdrawn_instance USING (snapshot, instance_id)
WHERE status IN ('answered', 'replayed') AND instance_id <> ''
QUALIFY row_number() OVER (PARTITION BY work_id, position ORDER BY started_at DESC, call_id) = 1;
