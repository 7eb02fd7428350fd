-- Which steps do the counted agent localizations take, with the columns to group them by?
--
-- One row per step and snapshot, for the localizations that tables count.
-- needs: counted_localization, localization_step, used_instance
CREATE OR REPLACE VIEW agent_step AS
SELECT
    snapshot,
    model,
    variant,
    with_tests,
    top_n,
    localization_id,
    instance_key,
    step.* EXCLUDE (localization_id, instance_key, method)
FROM localization_step AS step
JOIN counted_localization USING (localization_id, instance_key)
JOIN (SELECT DISTINCT snapshot, instance_key FROM used_instance) USING (instance_key)
WHERE counted_localization.method = 'agent';
