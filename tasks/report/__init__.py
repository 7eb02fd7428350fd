"""Report: finished rows become a static site that needs neither a network nor a server.

Reads the answers to questions of `sql/pages` and `sql/tables`, and trajectories among the store's files. Writes HTML,
SVG and PDF into one folder. Decides nothing: what is solved, held out or suspected is said in `sql/`.
"""
