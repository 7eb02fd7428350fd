-- Which instances of a snapshot suit a cheap first evaluation?
--
-- One row per snapshot and instance_id that meets all of these rules. Instances without counted facts are excluded.
-- The statement has 40 to 1,000 words and is self-contained: no image, link, commit or other issue.
-- The fix changes one existing source file, in at most 3 hunks and 50 lines. The golden tests change at most 2 files.
-- needs: used_instance, instance_fact
CREATE OR REPLACE VIEW lite_instance AS
SELECT t.snapshot, t.instance_id, t.instance_key, t.repo, t.created_at
FROM used_instance AS t
JOIN instance_fact AS i ON i.instance_key = t.instance_key
WHERE i.statement_words BETWEEN 40 AND 1000
    AND i.images = 0 AND i.links = 0 AND i.commits = 0 AND i.references = 0
    AND i.patch_files = 1 AND i.patch_new_files = 0 AND i.patch_hunks <= 3 AND i.patch_added + i.patch_removed <= 50
    AND i.test_files <= 2;
