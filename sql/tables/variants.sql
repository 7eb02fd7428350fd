-- What does each experiment change, and how much of it is done?
--
-- One row per snapshot, label and model of finished work.
-- label              the name under which its candidates are counted: `zero_shot_plus[temperature=0.7]+golden-patch`
-- parameters         parameters that differ from the method's defaults, by name; empty for the default method
-- instances          instances with finished work
-- proposed           samples with a patch
-- nothing            samples without a patch
-- first_at, last_at  when the first and the last of its rows were finished
-- needs: labelled_generation
CREATE OR REPLACE VIEW variants AS
SELECT
    snapshot, label, model, method, regexp_extract(variant, '\[(.*)\]$', 1) AS parameters, given, mode,
    count(DISTINCT instance_id) AS instances,
    count(*) FILTER (status = 'proposed') AS proposed, count(*) FILTER (status = 'nothing') AS nothing,
    min(finished_at) AS first_at, max(finished_at) AS last_at
FROM labelled_generation
WHERE status <> 'infrastructure'
GROUP BY ALL
ORDER BY snapshot, label, model;
