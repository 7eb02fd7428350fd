"""Maps modules, options and fixtures to distributions with a different name."""

from __future__ import annotations

from tasks.environment.project_files.requirements import normal

KNOWN_MODULES = {
    "_pytest": "pytest",
    "Crypto": "pycryptodome",
    "MySQLdb": "mysqlclient",
    "OpenSSL": "pyOpenSSL",
    "PIL": "Pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "enchant": "pyenchant",
    "erfa": "pyerfa",
    "git": "GitPython",
    "google.protobuf": "protobuf",
    "jose": "python-jose",
    "jwt": "PyJWT",
    "lazy_object_proxy": "lazy-object-proxy",
    "magic": "python-magic",
    "memcache": "python-memcached",
    "mpl_toolkits": "matplotlib",
    "nc_time_axis": "nc-time-axis",
    "netCDF4": "netCDF4",
    "pkg_resources": "setuptools",
    "psycopg2": "psycopg2-binary",
    "pydispatch": "PyDispatcher",
    "pylab": "matplotlib",
    "ruamel": "ruamel.yaml",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "socks": "PySocks",
    "sphinxcontrib.websupport": "sphinxcontrib-websupport",
    "typed_ast": "typed-ast",
    "upath": "universal-pathlib",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}
"""Module → distribution. `a.b` takes precedence over `a`."""

KNOWN_FIXTURES = {
    "benchmark": "pytest-benchmark",
    "datadir": "pytest-datadir",
    "freezer": "pytest-freezegun",
    "httpbin": "pytest-httpbin",
    "httpbin_secure": "pytest-httpbin",
    "httpserver": "pytest-httpserver",
    "mocker": "pytest-mock",
    "requests_mock": "requests-mock",
    "subtests": "pytest-subtests",
}
"""Pytest fixture → distribution of the plugin."""

KNOWN_OPTIONS = {
    "-n": "pytest-xdist",
    "--arraydiff": "pytest-arraydiff",
    "--asyncio-mode": "pytest-asyncio",
    "--benchmark-disable": "pytest-benchmark",
    "--benchmark-skip": "pytest-benchmark",
    "--cov": "pytest-cov",
    "--cov-append": "pytest-cov",
    "--cov-config": "pytest-cov",
    "--cov-report": "pytest-cov",
    "--dist": "pytest-xdist",
    "--doctest-plus": "pytest-doctestplus",
    "--doctest-rst": "pytest-doctestplus",
    "--durations-min": "pytest",
    "--flake8": "pytest-flake8",
    "--mpl": "pytest-mpl",
    "--mypy": "pytest-mypy",
    "--numprocesses": "pytest-xdist",
    "--no-cov": "pytest-cov",
    "--open-files": "pytest-openfiles",
    "--pep8": "pytest-pep8",
    "--randomly-seed": "pytest-randomly",
    "--remote-data": "pytest-remotedata",
    "--reruns": "pytest-rerunfailures",
    "--timeout": "pytest-timeout",
}
"""Pytest option → distribution of the plugin."""


KNOWN = frozenset(map(normal, (*KNOWN_MODULES.values(), *KNOWN_FIXTURES.values(), *KNOWN_OPTIONS.values())))
"""Normalised names of all these distributions."""


def distribution_of(module: str) -> str:
    """Returns `PyYAML` for `yaml.nodes`; an unknown module is assumed to have the name of its distribution."""
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    known = next((KNOWN_MODULES[name] for name in names if name in KNOWN_MODULES), None)
    return known or normal(parts[0])


def plugin_of(name: str) -> str | None:
    """Returns the distribution that defines an option or a fixture; None if unknown."""
    return KNOWN_OPTIONS.get(name) or KNOWN_FIXTURES.get(name)
