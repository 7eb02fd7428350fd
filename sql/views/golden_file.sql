-- Which files must a localization find?
--
-- One row per instance_key and path, independent of snapshots: the Python files that the golden patch changes or
-- deletes.
-- Added files cannot be located, and other files are not ranked. An instance without such a file has no row, and its
-- localizations are not scored.
-- path  relative to the root of the repository
-- needs: task_instance
CREATE OR REPLACE VIEW golden_file AS
WITH file AS (
    SELECT DISTINCT
        instance_key,
        -- the text above the first hunk of each file
        regexp_extract(unnest(string_split_regex(patch, '(?:^|\n)diff --git ')), '^(?s)(.*?)(?:\n@@ |$)', 1) AS header
    FROM task_instance
)
SELECT
    instance_key,
    regexp_extract(header, '(?m)^--- a/([^\t\n]*)', 1) AS path
FROM file
WHERE path LIKE '%.py';
