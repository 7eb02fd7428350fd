-- Which files would a localization have to name?
--
-- The Python files that the golden patch of an instance changes or deletes; files that it adds cannot be located, and
-- other files are not ranked. One row per instance_key and path, whatever snapshots the instance is in. An instance
-- without such a file has no row, and no localization of it is scored.
-- path  relative to the root of the repository
-- needs: task_instance
CREATE OR REPLACE VIEW golden_file AS
WITH file AS (
    SELECT DISTINCT
        instance_key,
        -- what stands above the first hunk of each file
        regexp_extract(unnest(string_split_regex(patch, '(?:^|\n)diff --git ')), '^(?s)(.*?)(?:\n@@ |$)', 1) AS header
    FROM task_instance
)
SELECT
    instance_key,
    regexp_extract(header, '(?m)^--- a/([^\t\n]*)', 1) AS path
FROM file
WHERE path LIKE '%.py';
