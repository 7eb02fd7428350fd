-- Which runs count at all?
--
-- Rows of `requested_run`: of each instance those of the runner (`runner_version`) that it was last run by. What an older runner
-- said may be what the newer one was mended for, so it is superseded as soon as the newer one has run, and no verdict
-- follows from both. Runs that failed for reasons of ours (`infrastructure`) are not among them, and supersede nothing.
-- needs: requested_run
CREATE OR REPLACE VIEW current_run AS
SELECT *
FROM requested_run
WHERE status <> 'infrastructure'
QUALIFY coalesce(runner_version, '') = first_value(coalesce(runner_version, '')) OVER (
    PARTITION BY instance_key ORDER BY finished_at DESC, run_key DESC
);
