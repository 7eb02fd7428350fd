-- Another name of `leaderboard`: the paper's Table 2.
--
-- needs: leaderboard
CREATE OR REPLACE VIEW table2 AS
FROM leaderboard;
