-- How many rows does each stage before publication have?
--
-- One row; each column is named after the table that it counts.
-- pull_request  collected pull requests
-- issue         collected issues
-- issue_link    links between pull requests and issues
-- pull_base     pull requests with a verified base commit
-- rejection     rejections by rules of the filter
-- validation    validations of instances
-- needs: pull_request, issue, issue_link, pull_base, rejection, validation
CREATE OR REPLACE VIEW stage_count AS
SELECT
    (SELECT count(*) FROM pull_request) AS pull_request,
    (SELECT count(*) FROM issue) AS issue,
    (SELECT count(*) FROM issue_link) AS issue_link,
    (SELECT count(*) FROM pull_base) AS pull_base,
    (SELECT count(*) FROM rejection) AS rejection,
    (SELECT count(*) FROM validation) AS validation;
