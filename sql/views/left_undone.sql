-- On which instances did a provider, a budget or a machine stop a method?
--
-- Tables do not count such an instance as a failure. Without an earlier candidate, they exclude it and count it as
-- unmeasured.
-- method                    the label of its candidates
-- snapshot, model, instance_id  as in `generation`
-- why                       the error of the last attempt
-- needs: labelled_generation
CREATE OR REPLACE VIEW left_undone AS
SELECT snapshot, label AS method, model, instance_id, arg_max(reasons, finished_at)[1] AS why
FROM labelled_generation
WHERE status = 'infrastructure'
GROUP BY snapshot, label, model, instance_id;
