-- Which runs count at all?
--
-- Rows of `requested_run` made by the runner version (`runner_version`) of the instance's latest run. A newer runner
-- may fix an error of an older one, so it supersedes the older runs as soon as it has run.
-- No verdict mixes two runner versions. Internal failures (`infrastructure`) are excluded and supersede nothing.
-- needs: requested_run
CREATE OR REPLACE VIEW current_run AS
SELECT *
FROM requested_run
WHERE status <> 'infrastructure'
QUALIFY coalesce(runner_version, '') = first_value(coalesce(runner_version, '')) OVER (
    PARTITION BY instance_key ORDER BY finished_at DESC, run_key DESC
);
