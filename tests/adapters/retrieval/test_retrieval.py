"""Terms from files of cases; rankings of a small repository against BM25 written out by hand."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from scratch_git import git

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.retrieval.analyzers import code_terms, english_terms
from tasks.adapters.retrieval.budget import fitting, token_count
from tasks.adapters.retrieval.counts import TermCache
from tasks.adapters.retrieval.search import Searcher
from tasks.adapters.retrieval.variants import RETRIEVERS
from tasks.domain.errors import InfrastructureError, NotFound
from tasks.domain.localization import RetrieverKind
from tasks.domain.names import RepoName, RepoPath, Sha

CASES = tomllib.loads((Path(__file__).parent / "cases" / "terms.toml").read_text("utf-8"))["case"]
REPO = RepoName("owner/name")
FILES = {
    "README.md": "apple apple apple",
    "pkg/__init__.py": "",
    "pkg/apple.py": "def peel():\n    return 'core'\n",
    "pkg/pear.py": "def peel_pear(apple):\n    return apple\n",
    "pkg/orchard.py": "class AppleTree:\n    apple = 1\n" + "    filler_name = 2\n" * 40,
    "tests/test_apple.py": "apple apple apple apple\n",
}


@pytest.fixture(scope="module")
def commit(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mirrors, Sha]:
    folder = tmp_path_factory.mktemp("source")
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "pkg" / "link.py").symlink_to("apple.py")
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "-m", "first")):
        git(folder, *words)
    mirrors = Mirrors(tmp_path_factory.mktemp("mirrors"))
    mirrors.add(REPO, folder)
    return mirrors, Sha(mirrors.commit(REPO, "HEAD"))


@pytest.fixture
def searcher(commit: tuple[Mirrors, Sha], tmp_path: Path) -> Searcher:
    return Searcher(commit[0], tmp_path / "retrieval")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"])
def test_terms(case: dict[str, str]) -> None:
    assert list(english_terms(case["text"])) == case["english"]
    assert list(code_terms(case["text"])) == case["code"]


def test_a_word_without_end_is_cut_or_left_out() -> None:
    assert [len(term) for term in english_terms("x" * 1000)] == [255]
    assert list(code_terms("x" * 1000)) == []


def by_hand(texts: Sequence[str], query: Counter[str], variant: RetrieverKind) -> list[float]:
    """BM25 term by term, straight from the formula."""
    retriever = RETRIEVERS[variant]
    k1, b = retriever.weights.k1, retriever.weights.b
    documents = [Counter(retriever.analyze(text)) for text in texts]
    mean = sum(document.total() for document in documents) / len(documents)
    scores = [0.0] * len(texts)
    for term, times in query.items():
        holding = sum(term in document for document in documents)
        idf = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        for at, document in enumerate(documents):
            tf = document[term]
            scores[at] += times * idf * tf / (tf + k1 * (1 - b + b * document.total() / mean))
    return scores


@pytest.mark.parametrize("with_tests", [False, True])
def test_lucene_ranks_path_and_contents_as_one_text(
    searcher: Searcher, commit: tuple[Mirrors, Sha], with_tests: bool
) -> None:
    statement = "Apple peel\nthe apple has a core"
    paths = sorted(path for path in FILES if path.endswith(".py") and (with_tests or not path.startswith("tests")))
    expected = by_hand(
        [f"{path}\n{FILES[path]}" for path in paths], Counter(english_terms(statement)), RetrieverKind.LUCENE
    )
    hits = searcher.index(REPO, commit[1], RetrieverKind.LUCENE, with_tests=with_tests).rank(statement, 30)
    assert {hit.path: hit.score for hit in hits} == pytest.approx(
        {path: score for path, score in zip(paths, expected, strict=True) if score}
    )
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_code_adds_the_path_and_counts_the_title_three_times(searcher: Searcher, commit: tuple[Mirrors, Sha]) -> None:
    query = Counter({"appletree": 3, "apple": 4, "tree": 3})
    assert RETRIEVERS[RetrieverKind.CODE].query("AppleTree\napple") == query
    paths = sorted(path for path in FILES if path.endswith(".py") and not path.startswith("tests"))
    contents = by_hand([FILES[path] for path in paths], query, RetrieverKind.CODE)
    names = by_hand(paths, query, RetrieverKind.CODE)
    expected = {path: one + 0.3 * other for path, one, other in zip(paths, contents, names, strict=True)}
    hits = searcher.index(REPO, commit[1], RetrieverKind.CODE).rank("AppleTree\napple", 10)
    assert {hit.path: hit.score for hit in hits} == pytest.approx(
        {path: score for path, score in expected.items() if score}
    )
    assert hits[0].path == "pkg/orchard.py"


def test_an_issue_in_other_words_ranks_nothing(searcher: Searcher, commit: tuple[Mirrors, Sha]) -> None:
    for variant in RetrieverKind:
        assert searcher.index(REPO, commit[1], variant).rank("zebra\n", 30) == ()
        assert searcher.index(REPO, commit[1], variant).rank("", 30) == ()


def test_equal_scores_are_in_order_of_the_path(searcher: Searcher, commit: tuple[Mirrors, Sha]) -> None:
    hits = searcher.index(REPO, commit[1], RetrieverKind.LUCENE).rank("pkg", 30)
    assert [hit.path for hit in hits][-1] == "pkg/orchard.py"
    assert [hit.path for hit in hits if hit.score == hits[0].score] == ["pkg/__init__.py"]


def test_only_python_files_of_the_commit_are_ranked(commit: tuple[Mirrors, Sha]) -> None:
    paths = [entry.path for entry in commit[0].python_files(REPO, commit[1])]
    assert paths == sorted(path for path in FILES if path.endswith(".py"))


def test_a_missing_commit_is_said(searcher: Searcher) -> None:
    with pytest.raises(NotFound):
        searcher.index(REPO, Sha("1" * 40), RetrieverKind.CODE)


def texts(names: Sequence[str]) -> Iterator[str]:
    return (f"shared {name} " * 3 for name in names)


def refuse(names: Sequence[str]) -> Iterator[str]:
    raise AssertionError(f"read again: {names}")


def test_each_content_is_read_once(tmp_path: Path) -> None:
    cache = TermCache(tmp_path / "a.sqlite", str.split, len)
    names = [f"name{number}" for number in range(1200)]
    first = cache.counts(names, texts)
    again = cache.counts([*names[:2], names[0]], refuse)
    assert len(first.tokens) == 1200
    assert again.starts.tolist() == [0, 2, 4, 6]
    assert again.counts.tolist() == [3] * 6
    assert cache.numbers(["shared", "unheard"]).keys() == {"shared"}


def test_writers_at_the_same_time_agree_on_the_numbers(tmp_path: Path) -> None:
    groups = [[f"name{number}" for number in range(start, start + 60)] for start in range(0, 200, 20)]

    def count(names: list[str]) -> None:
        TermCache(tmp_path / "a.sqlite", str.split, len).counts(names, texts)

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(count, groups))
    cache = TermCache(tmp_path / "a.sqlite", str.split, len)
    for group in groups:
        found = cache.counts(group, refuse)
        number = cache.numbers(["shared", *group])
        expected = [sorted((number["shared"], number[name])) for name in group]
        assert [sorted(pair) for pair in found.terms.reshape(-1, 2).tolist()] == expected


def test_a_spoilt_cache_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(InfrastructureError) as caught:
        TermCache(tmp_path / "a.sqlite", str.split, len).counts(["x"], texts)
    assert "delete" in caught.value.hint


def test_the_first_file_that_does_not_fit_ends_a_context() -> None:
    assert fitting([5, 4, 3, 1], 10) == (0, 1)
    assert fitting([5, 4, 3, 1], 10, pass_over=True) == (0, 1, 3)
    assert fitting([11], 10) == ()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("tiktoken is great!", 6), ("antidisestablishmentarianism", 6), ("2 + 2 = 4", 7), ("<|endoftext|>", 7)],
)
def test_tokens_are_those_of_the_tokenizer_of_the_papers(text: str, tokens: int) -> None:
    """The counts but the last are from OpenAI's cookbook; what looks like a sign of the model's is text here."""
    assert token_count(text) == tokens


def test_no_text_is_too_long_and_none_too_odd() -> None:
    """A generated file of a real repository has millions; undecodable bytes come as surrogate escapes."""
    assert token_count("a b\n" * 200_000) == 600_000
    assert token_count("\udcff") > 0


def test_hits_know_what_they_cost(searcher: Searcher, commit: tuple[Mirrors, Sha]) -> None:
    (hit,) = searcher.index(REPO, commit[1], RetrieverKind.CODE).rank("peel_pear", 1)
    assert hit.path == RepoPath("pkg/pear.py")
    assert hit.tokens == token_count("pkg/pear.py") + token_count(FILES["pkg/pear.py"])
