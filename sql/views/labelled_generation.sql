-- Which work did each method do, with the name under which its candidates are counted?
--
-- Columns of `generation`, and the label.
-- label  joined by `+`, as in `candidate.method`: the method with its experiment's parameters, the extra inputs beyond
--        issue and retrieval, and the mode if it is not `unit_test`
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
