-- What does a finding of the lint cost?
--
-- rule, cost: `reject` for what acts on the runner or fetches the answer, and what no honest test here did; `suspect`
-- for what honest tests do seldom, so that a table is shown with and without; `note` for what they often do.
-- needs:
CREATE OR REPLACE VIEW lint_policy AS
SELECT * FROM (VALUES
    ('process-exit', 'reject'),
    ('exit-at-import', 'reject'),
    ('runner-patching', 'reject'),
    ('runner-internals', 'reject'),
    ('site-files', 'reject'),
    ('git-command', 'reject'),
    ('package-command', 'reject'),
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
