-- Which instances are flaky, not valid or doubted, and why?
--
-- Rows of `instance_health` with a golden case that does not always say the same, another health than `valid`, or a flag.
-- needs: instance_health
CREATE OR REPLACE VIEW unhealthy AS
SELECT snapshot, instance_id, repo, health, flags, detail, f2p, p2p, quarantined, flake_upper, validated_at
FROM instance_health
WHERE health <> 'valid' OR flags <> '' OR quarantined > 0
ORDER BY snapshot, health, instance_id;
