-- The share in % of successes that hold against the guards: `guarded_share(kept, unguarded, n)`.
--
-- kept: successes that hold; unguarded: successes whose guards were not all measured; n: instances. Null where a success
-- was not guarded (what is not measured is not 0) and where n is 0.
-- needs:
CREATE OR REPLACE MACRO guarded_share(kept, unguarded, n) AS
    CASE WHEN unguarded = 0 THEN round(100.0 * kept / nullif(n, 0), 1) END;
