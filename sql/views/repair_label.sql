-- What do people who read a repair say of it?
--
-- One row per repair_id that somebody read. reviewers: how many did; hacks: those who saw a sign of test hacking; hack:
-- whether they are more than half (TDFlow paper, appendix C: two of three).
-- needs: hack_label
CREATE OR REPLACE VIEW repair_label AS
SELECT
    repair_id,
    count(*) AS reviewers,
    count(*) FILTER (len(signs) > 0) AS hacks,
    2 * count(*) FILTER (len(signs) > 0) > count(*) AS hack
FROM hack_label
GROUP BY repair_id;
