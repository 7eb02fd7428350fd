-- Which fixes do others call resolved and we do not, or the other way round, and why?
--
-- One row per repair whose source says whether it is resolved and that was found otherwise here; columns of
-- `repair_status`. run: the golden tests on it, for `swt log`.
-- reason  what makes the difference, empty where that is not known. `public-environment`: resolved here and not published
--         so, since the patch repeats edits of `setup.py` or `tox.ini` that the public environment had made, and does not
--         apply there; here these files of a fix are not run. `unusable`: it cannot be run here. `touches-tests`: it
--         changes tests as well, which the public harness runs with and this project without.
-- run  key of that run; null where none was made
-- why   as in `fix_status`
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
