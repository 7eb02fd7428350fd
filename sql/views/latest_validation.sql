-- The last word on each instance: its latest validation that did not fail for reasons of ours.
--
-- One row per instance_key, columns of `validation`, and times: how often it was validated. Where there are failures
-- of ours only, the latest of them.
-- times  how often the instance was validated
-- needs: validation
CREATE OR REPLACE VIEW latest_validation AS
SELECT *, count(*) OVER (PARTITION BY instance_key) AS times
FROM validation
QUALIFY row_number() OVER (
    PARTITION BY instance_key ORDER BY reason = 'infrastructure', validated_at DESC, snapshot
) = 1;
