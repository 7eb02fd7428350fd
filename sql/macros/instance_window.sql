-- Which instances of a snapshot have a pull request opened in the last `months` months before a day?
--
-- FROM instance_window('2026-11', 6, DATE '2026-11-30'). Columns of `task_instance`.
-- needs: task_instance
CREATE OR REPLACE MACRO instance_window(wanted, months, last_day) AS TABLE
    SELECT *
    FROM task_instance
    WHERE snapshot = wanted
        AND created_at >= CAST(last_day AS TIMESTAMPTZ) - to_months(months)
        AND created_at < CAST(last_day AS TIMESTAMPTZ) + INTERVAL 1 DAY;
