-- What is the latest validation of each instance that did not fail for internal reasons?
--
-- One row per instance_key. Columns of `validation`. If an instance has internal failures only, the latest of them.
-- times  number of validations of the instance
-- needs: validation
CREATE OR REPLACE VIEW latest_validation AS
SELECT *, count(*) OVER (PARTITION BY instance_key) AS times
FROM validation
QUALIFY row_number() OVER (
    PARTITION BY instance_key ORDER BY reason = 'infrastructure', validated_at DESC, snapshot
) = 1;
