-- Which generated tests was each repair made with, and how good were they?
--
-- One row per repair (sample 0) whose `tests` name a method of the same snapshot with a measured candidate for the
-- instance.
-- Columns of `test_quality`, where method and model are those of the tests.
-- repair, repair_model  method and model of the repair
-- needs: repair_instance, test_quality
CREATE OR REPLACE VIEW repair_with_tests AS
SELECT
    q.*, r.method AS repair, r.model AS repair_model, r.resolved
FROM repair_instance AS r
JOIN test_quality AS q
    ON q.snapshot = r.snapshot AND q.instance_id = r.instance_id
    AND r.tests IN (q.method, q.method || '@' || coalesce(q.model, ''))
WHERE r.resolved IS NOT NULL;
