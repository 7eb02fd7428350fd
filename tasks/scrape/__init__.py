"""Where task instances come from: GitHub, other people's data sets and the bundled demo.

Reads GitHub's pages, SWE-bench files and recorded git histories; gives rows of `raw_page`, `sync_state`,
`scrape_failure`, `pull_request`, `issue`, `issue_link`, `task_instance` and `snapshot`; touches GitHub and git.
"""
