-- Which fixes do others call resolved and we do not, or the other way round, and why?
--
-- One row per repair whose source says whether it is resolved and that was found otherwise here; columns of
-- `repair_status`. run: the golden tests on it, for `swt log`.
-- run  key of that run; null where none was made
-- why   as in `fix_status`
-- needs: repair_status
CREATE OR REPLACE VIEW repair_difference AS
SELECT
    snapshot, method, model, instance_id, sample, published, status, touches_tests,
    f2p, f2p_passed, p2p, p2p_passed, why, stripped, run_key AS run, source
FROM repair_status
WHERE resolved <> published
ORDER BY snapshot, method, model, instance_id, sample;
