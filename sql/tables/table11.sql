-- How long does a method take for one instance?
--
-- The paper's Table 11. One row per snapshot, method and model, over instances with finished work. Replayed replies
-- count with their original duration.
-- instances                 instances that the method worked on
-- seconds_mean, seconds_median, seconds_max  for one instance, from the start of the method to its last sample,
--                           including waiting for models
-- model_share               the share of this time for the model, in %
-- needs: labelled_generation, method_call, candidate_result, withdrawn_instance
CREATE OR REPLACE VIEW table11 AS
WITH work AS (
    SELECT
        g.snapshot, g.label AS method, g.model, g.instance_id,
        max(g.seconds) AS wall, min(g.started_at) AS started_at
    FROM labelled_generation AS g
    SEMI JOIN (
        FROM candidate_result ANTI JOIN withdrawn_instance USING (snapshot, instance_id)
    ) AS c ON c.snapshot = g.snapshot AND c.candidate_id = g.candidate_id
    GROUP BY g.snapshot, g.label, g.model, g.instance_id, g.config_key
    QUALIFY row_number() OVER (
        PARTITION BY g.snapshot, g.label, g.model, g.instance_id ORDER BY min(g.started_at) DESC
    ) = 1
),
timed AS (
    SELECT
        w.snapshot, w.method, w.model, w.instance_id,
        w.wall + coalesce(sum(m.seconds) FILTER (m.status = 'replayed' OR m.started_at < w.started_at), 0) AS seconds,
        coalesce(sum(m.seconds), 0) AS model_seconds
    FROM work AS w
    LEFT JOIN method_call AS m
        ON m.snapshot = w.snapshot AND m.method = w.method AND m.model = w.model AND m.instance_id = w.instance_id
    GROUP BY w.snapshot, w.method, w.model, w.instance_id, w.wall
)
SELECT
    snapshot, method, model,
    count(*) AS instances,
    round(avg(seconds), 1) AS seconds_mean,
    round(median(seconds), 1) AS seconds_median,
    round(max(seconds), 1) AS seconds_max,
    round(100 * sum(model_seconds) / nullif(sum(seconds), 0), 1) AS model_share
FROM timed
GROUP BY snapshot, method, model
ORDER BY snapshot, seconds_mean, method, model;
