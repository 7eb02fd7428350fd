-- The localizations that tables count.
--
-- Columns of `localization_run`; one row per instance, method, model, variant, with_tests, top_n and sample: of several
-- with other settings the latest, and a timeout only where there is nothing else.
-- needs: localization_run
CREATE OR REPLACE VIEW counted_localization AS
SELECT *
FROM localization_run
QUALIFY row_number() OVER (
    PARTITION BY instance_key, method, model, variant, with_tests, top_n, sample
    ORDER BY (status <> 'timeout') DESC, finished_at DESC, localization_id
) = 1;
