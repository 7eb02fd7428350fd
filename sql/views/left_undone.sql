-- On which instances did provider, budget or machine keep a method from its work?
--
-- Columns: snapshot, method (the label of its candidates), model, instance_id; why: the error of the last attempt.
-- Such an instance is nobody's failure: where there is no candidate from before, tables leave it out and count it.
-- needs: labelled_generation
CREATE OR REPLACE VIEW left_undone AS
SELECT snapshot, label AS method, model, instance_id, arg_max(reasons, finished_at)[1] AS why
FROM labelled_generation
WHERE status = 'infrastructure'
GROUP BY snapshot, label, model, instance_id;
