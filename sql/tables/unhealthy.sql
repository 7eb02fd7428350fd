-- Which instances are flaky, invalid or flagged, and why?
--
-- Rows of `instance_health` with an unstable golden case, a health other than `valid`, or a quality flag.
-- needs: instance_health
CREATE OR REPLACE VIEW unhealthy AS
SELECT snapshot, instance_id, repo, health, flags, detail, f2p, p2p, quarantined, flake_upper, validated_at
FROM instance_health
WHERE health <> 'valid' OR flags <> '' OR quarantined > 0
ORDER BY snapshot, health, instance_id;
