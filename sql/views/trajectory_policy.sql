-- How serious is each finding of the trajectory audit?
--
-- rule  name of the rule
-- cost  `suspect` where the method searched for the answer, `note` where it may have
-- needs:
CREATE OR REPLACE VIEW trajectory_policy AS
SELECT * FROM (VALUES
    ('told-the-fix', 'suspect'),
    ('all-history', 'suspect'),
    ('later-commit', 'suspect'),
    ('fetch', 'suspect'),
    ('package-download', 'suspect'),
    ('installed-copy', 'suspect'),
    ('repository-url', 'suspect'),
    ('fixed-content', 'suspect'),
    ('web-tool', 'suspect'),
    ('web-request', 'note'),
    ('other-place', 'note')
) AS policy(rule, cost);
