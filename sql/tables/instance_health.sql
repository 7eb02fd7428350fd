-- How healthy and how large is each instance of each snapshot?
--
-- One row per snapshot and instance_id. Size columns are null where nothing was counted (`instance_fact`).
-- health        `withdrawn`, `valid`, the reason why it is not valid, or `unknown` if it was never validated
-- flags         quality flags by name (`quality_flag`); empty where there is none
-- f2p, p2p      stable golden cases
-- quarantined   unstable golden cases
-- flake_upper   the largest upper bound of a flake rate among its F2P cases
-- validations   number of validations
-- validated_at  time of the latest validation
-- patch_lines   lines that the golden patch adds or removes
-- needs: task_instance, latest_validation, instance_fact, case_stability, quality_flag, withdrawal
CREATE OR REPLACE VIEW instance_health AS
WITH flaky AS (
    SELECT instance_key, env_id, max(flake_upper) FILTER (stability = 'fail_to_pass') AS flake_upper
    FROM case_stability
    WHERE suite_kind = 'golden'
    GROUP BY instance_key, env_id
),
doubted AS (
    SELECT snapshot, instance_id, string_agg(DISTINCT flag, ', ' ORDER BY flag) AS flags
    FROM quality_flag
    GROUP BY snapshot, instance_id
),
gone AS (SELECT DISTINCT instance_id FROM withdrawal WHERE instance_id <> '')
SELECT
    t.snapshot, t.instance_id, t.instance_key, t.repo, t.created_at,
    CASE
        WHEN g.instance_id IS NOT NULL THEN 'withdrawn'
        WHEN v.instance_key IS NULL THEN 'unknown'
        WHEN v.valid THEN 'valid'
        ELSE v.reason
    END AS health,
    coalesce(d.flags, '') AS flags,
    v.detail, v.fail_to_pass AS f2p, v.pass_to_pass AS p2p, v.quarantined,
    round(f.flake_upper, 3) AS flake_upper, v.times AS validations, v.validated_at,
    i.statement_words, i.source_files, i.source_lines, i.patch_files, i.patch_added + i.patch_removed AS patch_lines
FROM task_instance AS t
LEFT JOIN latest_validation AS v ON v.instance_key = t.instance_key
LEFT JOIN flaky AS f ON f.instance_key = t.instance_key AND f.env_id = v.env_id
LEFT JOIN instance_fact AS i ON i.instance_key = t.instance_key
LEFT JOIN doubted AS d ON d.snapshot = t.snapshot AND d.instance_id = t.instance_id
LEFT JOIN gone AS g ON g.instance_id = t.instance_id;
