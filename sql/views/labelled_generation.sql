-- The work of methods, with the name that its candidates are counted under.
--
-- Columns of `generation`, and label: the method with its experiment's parameters, what it was told beyond issue and
-- retrieval, and what it was asked for where that is not unit tests, joined by `+`, as `candidate.method` has it.
-- label  the method with its parameters, what it was told and asked for, as `candidate.method` has it
-- needs: generation
CREATE OR REPLACE VIEW labelled_generation AS
SELECT
    *,
    array_to_string(
        list_concat(
            [coalesce(nullif(variant, ''), method)], given, CASE WHEN mode = 'unit_test' THEN [] ELSE [mode] END
        ),
        '+'
    ) AS label
FROM generation;
