-- Which localizations do tables count?
--
-- Columns of `localization_run`. One row per instance, method, model, variant, with_tests, top_n and sample.
-- If several have different settings, the latest counts. A timeout counts only if no other run exists.
-- sample  0-based number among several samples of one method
-- needs: localization_run
CREATE OR REPLACE VIEW counted_localization AS
SELECT *
FROM localization_run
QUALIFY row_number() OVER (
    PARTITION BY instance_key, method, model, variant, with_tests, top_n, sample
    ORDER BY (status <> 'timeout') DESC, finished_at DESC, localization_id
) = 1;
