-- Audit, must be empty: change coverage outside 0 to 1.
-- needs: change_coverage
CREATE OR REPLACE VIEW audit_coverage_out_of_range AS
SELECT * FROM change_coverage WHERE delta_c NOT BETWEEN 0 AND 1;
