-- Which instances of a snapshot are fit for a cheap first look?
--
-- One row per snapshot and instance_id that keeps all of these rules: a statement of 40 to 1,000 words that stands by
-- itself (no image, no link, no commit, no other issue), a fix in one source file that exists before and after, of at
-- most 3 hunks and 50 lines, and golden tests in at most 2 files. Instances whose facts are not counted are left out.
-- needs: used_instance, instance_fact
CREATE OR REPLACE VIEW lite_instance AS
SELECT t.snapshot, t.instance_id, t.instance_key, t.repo, t.created_at
FROM used_instance AS t
JOIN instance_fact AS i ON i.instance_key = t.instance_key
WHERE i.statement_words BETWEEN 40 AND 1000
    AND i.images = 0 AND i.links = 0 AND i.commits = 0 AND i.references = 0
    AND i.patch_files = 1 AND i.patch_new_files = 0 AND i.patch_hunks <= 3 AND i.patch_added + i.patch_removed <= 50
    AND i.test_files <= 2;
