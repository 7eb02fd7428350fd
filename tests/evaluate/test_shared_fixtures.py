"""Which `conftest.py` files only share fixtures, and which ones tell pytest something else."""

import pytest

from tasks.evaluate.intake.shared_fixtures import only_shares_fixtures

BASE = '''"""Fixtures of the project."""
import pytest

@pytest.fixture
def shop(tmp_path):
    return tmp_path
'''


@pytest.mark.parametrize(
    "added",
    [
        "@pytest.fixture\ndef goods(shop):\n    yield ['pear']\n",
        "@pytest.fixture(params=[1, 2], scope='module')\ndef amount(request):\n    return request.param\n",
        "@pytest.fixture(autouse=True)\ndef quiet(monkeypatch):\n    monkeypatch.setenv('QUIET', '1')\n",
        "@fixture\nasync def client():\n    return 1\n",
        "from larder.shop import Shop\nimport larder.goods as goods\n",
        "LIMIT: int = 3\nNAMES = ('a', 'b')\n",
        "class Till:\n    total = 0\n\ndef fill(till):\n    till.total = 1\n",
    ],
)
def test_taken(added: str) -> None:
    assert only_shares_fixtures("", "import pytest\n" + added)
    assert only_shares_fixtures(BASE, BASE + added)


@pytest.mark.parametrize(
    "added",
    [
        "def pytest_runtest_makereport(item, call):\n    pass\n",
        "from larder.plugin import hook as pytest_collection_modifyitems\n",
        "from larder.plugin import *\n",
        "pytest_plugins = ['larder.plugin']\n",
        "(pytest_plugins, x) = (['larder.plugin'], 1)\n",
        "collect_ignore_glob = ['*']\n",
        "def hide():\n    global pytest_plugins\n    pytest_plugins = []\n",
        "@pytest.hookimpl(hookwrapper=True)\ndef hook():\n    yield\n",
        "@pytest.fixture(**options())\ndef goods():\n    pass\n",
        "@wrong\n@pytest.fixture\ndef goods():\n    pass\n",
        "import sys\nsys.modules['pytest'] = None\n",
        "if True:\n    import pytest\n",
        "class Plugin(metaclass=Hook):\n    pass\n",
        "STARTED = start()\n",
        "def broken(:\n",
    ],
)
def test_refused(added: str) -> None:
    assert not only_shares_fixtures("", "import pytest\n" + added)
    assert not only_shares_fixtures(BASE, BASE + added)


def test_nothing_of_the_project_may_go() -> None:
    assert not only_shares_fixtures(BASE, BASE.replace("return tmp_path", "return None"))
    assert not only_shares_fixtures(BASE, "")
    assert only_shares_fixtures(BASE, BASE)


def test_nonsense_is_refused() -> None:
    assert not only_shares_fixtures("", "(" * 1_000_000)
    assert not only_shares_fixtures("", "\0")


def test_code_that_an_encoding_declaration_hides_in_a_comment_is_refused() -> None:
    hidden = "# coding: utf-7\n# +AAo-import larder.plugin+AAo-larder.plugin.install()\n"
    assert not only_shares_fixtures("", hidden)
