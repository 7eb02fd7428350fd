-- What is each experiment, and how far is it?
--
-- One row per snapshot, label and model of finished work.
-- label  the name that its candidates are counted under: `zero_shot_plus[temperature=0.7]+golden-patch`
-- parameters  what the method was asked to do otherwise, by name; empty for the method as it is
-- instances  that it has finished work on
-- proposed  samples with a patch
-- nothing  samples without one
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
