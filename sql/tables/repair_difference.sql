-- Which fixes have another result here than their source reports, and why?
--
-- One row per repair whose source reports a result that differs from the result here. Columns of `repair_status`.
-- reason  cause of the difference, empty if unknown. `public-environment`: resolved here only. The patch repeats edits
--         of `setup.py` or `tox.ini` that the public environment had already made, so it does not apply there. This
--         project does not run these files of a fix. `unusable`: it cannot run here. `touches-tests`: it also changes
--         tests, which the public harness keeps and this project drops
-- run     key of the run of the golden tests on it, for `swt log`; null without a run
-- why     as in `fix_status`
-- needs: repair_status
CREATE OR REPLACE VIEW repair_difference AS
SELECT
    snapshot, method, model, instance_id, sample, published, status,
    CASE
        WHEN resolved AND len([path FOR path IN stripped IF suffix(path, ': public-environment')]) > 0
            THEN 'public-environment'
        WHEN status = 'unusable' THEN 'unusable'
        WHEN touches_tests THEN 'touches-tests'
        ELSE ''
    END AS reason,
    touches_tests, f2p, f2p_passed, p2p, p2p_passed, why, stripped, run_key AS run, source
FROM repair_status
WHERE resolved <> published
ORDER BY snapshot, method, model, instance_id, sample;
