"""What the wheel holds: the packages, and as files of `flows` what a checkout has in `sql/` and `data/`.

Everything else about the project is in pyproject.toml; a folder with another name in the wheel can only be said here.
"""

from setuptools import find_namespace_packages, setup

RESOURCES = {"flows.resources.sql": "sql", "flows.resources.data": "data"}

setup(
    packages=[*find_namespace_packages(include=["flows", "flows.*", "tasks", "tasks.*"]), *RESOURCES],
    package_dir=RESOURCES,
    package_data={
        "": ["*.graphql", "*.j2", "*.css", "*.js", "*.svg", "*.sql"],
        "flows.resources.sql": ["**/*.sql"],
        "flows.resources.data": ["*.toml", "demo/*", "environments/**/*.toml"],  # never the warehouse beside them
    },
    include_package_data=False,
)
