-- Which findings of the lint are rare in honest tests?
--
-- The lint is advice for a reader and changes no verdict. A test without a finding is not proved honest.
-- rule  name of the rule
-- cost  `suspect` for code that honest tests seldom or never contain, `note` for code that they often contain
-- needs:
CREATE OR REPLACE VIEW lint_policy AS
SELECT * FROM (VALUES
    ('process-exit', 'suspect'),
    ('exit-at-import', 'suspect'),
    ('runner-patching', 'suspect'),
    ('runner-internals', 'suspect'),
    ('site-files', 'suspect'),
    ('git-command', 'suspect'),
    ('package-command', 'suspect'),
    ('hidden-code', 'suspect'),
    ('unreadable', 'suspect'),
    ('source-inspection', 'suspect'),
    ('code-object', 'suspect'),
    ('source-file', 'suspect'),
    ('coin', 'suspect'),
    ('clock', 'suspect'),
    ('marker-file', 'suspect'),
    ('system-path', 'suspect'),
    ('tracing', 'suspect'),
    ('loaded-modules', 'suspect'),
    ('skip-at-import', 'suspect'),
    ('at-exit', 'suspect'),
    ('signal', 'suspect'),
    ('pytest-hook', 'suspect'),
    ('environment-look', 'suspect'),
    ('module-file', 'note'),
    ('documentation', 'note'),
    ('version', 'note'),
    ('process', 'note'),
    ('network', 'note'),
    ('own-place', 'note'),
    ('file-look', 'note'),
    ('stack', 'note'),
    ('syntax', 'note')
) AS policy(rule, cost);
