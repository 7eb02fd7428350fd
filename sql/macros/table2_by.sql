-- Table 2 of the paper for any grader and policy: `FROM table2_by('swt_bench', 'as-submitted')`.
--
-- `table2_among` divides by the instances of a list instead of all of a snapshot. It excludes methods without a
-- candidate for any of them. Example: `FROM table2_among('paper', 'tests-only', ['pallets__flask-4045'])`.
-- `table2_of` takes a list of graders, null for all, and has a column grader.
-- One row per snapshot, method and model, sample 0. Every instance of the snapshot counts; an instance without a
-- candidate counts as 0 (section 5.2, table 2).
-- n                instances that count
-- unmeasured       instances excluded because their runs are missing
-- W                in %, well-formed: the patch applies
-- S                in %, solved
-- F_X              in %, some case of T fails before
-- F_P              in %, some case of T fails before and passes after
-- P_P              in %, some case of T passes in both
-- S_low, S_high    Wilson's 95 % interval of S, in %
-- solved           number of solved instances
-- S_robust         in % of n, solved and robust; null where a success was not fully checked
-- unchecked        successes that were not fully checked
-- decoys           pairs of a success and a decoy that it ran on
-- decoys_rejected  pairs in which the success rejects the decoy
-- strength         rejection rate: wrong fixes of proposed repairs that its successes reject, in % of all pairs
--                  (`strength`); null where no success ran on one. A robust success with a low rate may test less than
--                  the issue
-- provenance       source of the method's candidates (`verified`, `self_reported`, `oracle`)
-- needs: method_instance, wilson, robust_share, fix_rejection
CREATE OR REPLACE MACRO table2_of(for_graders, for_policy, asked) AS TABLE
SELECT
    grader, snapshot, method, model, any_value(provenance) AS provenance,
    count(*) FILTER (measured) AS n,
    count(*) FILTER (NOT measured) AS unmeasured,
    round(100.0 * count(*) FILTER (well_formed) / nullif(n, 0), 1) AS W,
    round(100.0 * count(*) FILTER (solved) / nullif(n, 0), 1) AS S,
    robust_share(count(*) FILTER (robust), count(*) FILTER (solved AND robust IS NULL), n) AS S_robust,
    coalesce(sum(decoys) FILTER (solved), 0)::BIGINT AS decoys,
    coalesce(sum(decoys_rejected) FILTER (solved), 0)::BIGINT AS decoys_rejected,
    round(100.0 * sum(rejected) FILTER (solved) / nullif(sum(fixes) FILTER (solved), 0), 1) AS strength,
    round(100.0 * count(*) FILTER (fail_to_any) / nullif(n, 0), 1) AS F_X,
    round(100.0 * count(*) FILTER (fail_to_pass) / nullif(n, 0), 1) AS F_P,
    round(100.0 * count(*) FILTER (pass_to_pass) / nullif(n, 0), 1) AS P_P,
    round(100 * wilson_low(count(*) FILTER (solved), n), 1) AS S_low,
    round(100 * wilson_high(count(*) FILTER (solved), n), 1) AS S_high,
    count(*) FILTER (solved) AS solved,
    count(*) FILTER (solved AND robust IS NULL) AS unchecked
FROM method_instance_of(for_graders, for_policy)
LEFT JOIN (
    SELECT candidate_id AS met_by, policy AS met_under, count(*) AS fixes, count(*) FILTER (rejected) AS rejected
    FROM fix_rejection
    GROUP BY candidate_id, policy
) ON met_by = candidate_id AND met_under = policy
WHERE asked IS NULL OR list_contains(asked, instance_id)
GROUP BY grader, snapshot, method, model
HAVING asked IS NULL OR count(candidate_id) > 0
ORDER BY grader, snapshot, method = 'golden' DESC, method = 'nop' DESC, S_robust DESC NULLS LAST, S DESC, method, model;

CREATE OR REPLACE MACRO table2_among(for_grader, for_policy, asked) AS TABLE
SELECT * EXCLUDE (grader) FROM table2_of([for_grader], for_policy, asked);

CREATE OR REPLACE MACRO table2_by(for_grader, for_policy) AS TABLE
SELECT * FROM table2_among(for_grader, for_policy, NULL::VARCHAR[]);
