"""The agent with scripted replies: every branch, and the path taken read from its steps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from small_repository import (
    APPLE,
    EXTRACT,
    EXTRACTED,
    FILES,
    LONG,
    PEAR,
    REPORT,
    REVIEWED,
    SEARCH,
    START,
    SmallRepository,
    call,
    ranked,
    view,
)

from tasks.adapters.llm.base import Role
from tasks.adapters.llm.errors import BudgetExhausted, ContentFiltered, ContextTooLong, ProviderFailed
from tasks.domain.localization import LocalizationStatus
from tasks.localize.agent import investigate
from tasks.localize.finding import LocalizationResult
from tasks.localize.settings import AgentSettings
from tests.fakes.scripted_model import Scripted, Step

SMALL = AgentSettings(top_n=2, views=3, views_per_file=2, review_views=1, reprompts=2)
FOUND = ["extract tool extract_relevant", "retrieve tool bm25 20"]


def located(
    *replies: Step, settings: AgentSettings = SMALL, repository: SmallRepository | None = None
) -> LocalizationResult:
    """The finding; every reply of the script has to have been asked for."""
    model = Scripted(replies)
    finding = investigate(REPORT, repository or SmallRepository(), model, settings)
    assert model.finished()
    return finding


def path_of(finding: LocalizationResult) -> list[str]:
    """Each step as `turn kind [tool] [k or path] [reason]`."""
    facts = ((step.turn, step.kind, step.tool, step.k, step.path, step.reason) for step in finding.steps)
    return [" ".join(str(fact) for fact in one if fact not in ("", None)) for one in facts]


def paths(finding: LocalizationResult) -> list[str]:
    return [place.path for place in finding.ranking]


def test_extract_retrieve_view_rank_review() -> None:
    repository = SmallRepository()
    finding = located(
        *START,
        view(APPLE),
        call("view_readme"),
        ranked(PEAR, APPLE),
        ranked(PEAR, APPLE, scores=["4", "9"]),
        repository=repository,
    )
    assert path_of(finding) == [
        *FOUND,
        f"view tool view_file {APPLE}",
        "view tool view_readme",
        "view answer",
        "review answer",
    ]
    assert [(place.path, place.confidence, place.score) for place in finding.ranking] == [
        (APPLE, 9, 10.0),
        (PEAR, 4, 9.0),
    ]
    assert (finding.status, finding.reviewed, finding.calls, finding.views) == (LocalizationStatus.RANKED, True, 7, 2)
    assert repository.queries == [("Peeling fails\npeel raises\npeel()\nValueError", 20)]


@pytest.mark.parametrize("k", [10, 20, 30])
def test_the_model_chooses_how_much_is_searched(k: int) -> None:
    repository = SmallRepository()
    finding = located(EXTRACT, EXTRACTED, call(f"get_bm25_top{k}"), ranked(APPLE), REVIEWED, repository=repository)
    assert repository.queries[0][1] == k
    assert f"retrieve tool bm25 {k}" in path_of(finding)


@pytest.mark.parametrize("before", [(), (EXTRACT, EXTRACTED)])
def test_a_list_is_taken_in_any_turn(before: tuple[str, ...]) -> None:
    finding = located(*before, ranked(APPLE), REVIEWED)
    assert paths(finding) == [APPLE]
    assert path_of(finding)[-2:] == [f"{'retrieve' if before else 'extract'} answer", "review answer"]
    assert finding.ranking[0].score is None


def test_json_is_found_in_chatter() -> None:
    chatty = f"Sure! Let me {{think}}.\n```json\n{EXTRACT}\n```\nDone."
    assert paths(located(chatty, EXTRACTED, SEARCH, ranked(APPLE), REVIEWED)) == [APPLE]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("I cannot help with that.", "no-json"),
        ('{"function_call": "view_file", "args": {"file_', "no-json"),
        ("[1, 2]", "no-json"),
        ('{"a": 1}', "unknown-shape"),
        (call("rm"), "unknown-tool"),
        ('{"function_call": ["x"]}', "unknown-tool"),
        (call("view_file"), "bad-arguments"),
        ('{"function_call": "view_file", "args": [1]}', "bad-arguments"),
        ('{"ranked_files": "pkg/apple.py"}', "bad-list"),
        ('{"ranked_files": []}', "bad-list"),
        (call("get_bm25_top10"), "wrong-turn"),
        ("{" * 5000 + '"' + "x" * 100_000, "no-json"),
    ],
)
def test_a_malformed_reply_is_asked_for_again(bad: str, reason: str) -> None:
    finding = located(*START, bad, ranked(APPLE), REVIEWED)
    assert path_of(finding) == [*FOUND, f"view reprompt {reason}", "view answer", "review answer"]
    assert paths(finding) == [APPLE]


def test_a_refusal_ends_the_localization() -> None:
    finding = located("No.", "No.", "No.")
    assert path_of(finding) == ["extract reprompt no-json", "extract reprompt no-json", "extract abort invalid-output"]
    assert (finding.status, finding.reason, finding.ranking) == (LocalizationStatus.ABORTED, "invalid-output", ())


@pytest.mark.parametrize("bad", ["nothing", '{"code": "x"}', '{"explanation": 5}', '{"paths": [1]}'])
def test_a_broken_extraction_is_asked_for_again(bad: str) -> None:
    finding = located(EXTRACT, bad, EXTRACTED, SEARCH, ranked(APPLE), REVIEWED)
    assert path_of(finding)[1] == f"extract reprompt {'no-json' if bad == 'nothing' else 'bad-extract'}"
    assert located(EXTRACT, bad, bad, bad).reason == "invalid-output"


def test_an_empty_extraction_leaves_the_report_as_the_query() -> None:
    repository = SmallRepository()
    located(EXTRACT, '{"explanation": ""}', SEARCH, ranked(APPLE), REVIEWED, repository=repository)
    assert REPORT.statement in repository.queries[0][0]


def test_a_wrong_path_is_asked_for_again() -> None:
    finding = located(*START, view("pkg/nothing.py"), view(f"./{APPLE}"), ranked(APPLE), REVIEWED)
    assert path_of(finding)[2:4] == [
        "view reprompt view_file pkg/nothing.py invalid-path",
        f"view tool view_file ./{APPLE}",
    ]


def test_a_path_that_stays_wrong_ends_the_viewing() -> None:
    wrong = view("../etc/passwd")
    finding = located(*START, wrong, wrong, wrong, view(APPLE), ranked(APPLE), REVIEWED)
    assert path_of(finding)[2:] == [
        "view reprompt view_file ../etc/passwd invalid-path",
        "view reprompt view_file ../etc/passwd invalid-path",
        "view abort-view view_file ../etc/passwd invalid-path",
        f"view abort-view view_file {APPLE} too-many-views",
        "view answer",
        "review answer",
    ]
    assert finding.views == 4


def test_a_repository_without_readme() -> None:
    finding = located(*START, call("view_readme"), ranked(APPLE), REVIEWED, repository=SmallRepository(readme=""))
    assert path_of(finding)[2] == "view reprompt view_readme invalid-path"


def test_a_wrong_list_is_asked_for_again() -> None:
    finding = located(*START, ranked(APPLE, "pkg/nothing.py"), ranked(f"/{APPLE}", PEAR, APPLE), REVIEWED)
    assert path_of(finding)[2:4] == ["view reprompt invalid-list", "view answer"]
    assert finding.steps[3].detail == f"{APPLE}, {PEAR}"


def test_of_a_list_that_stays_wrong_the_valid_paths_count() -> None:
    wrong = ranked("pkg/nothing.py", APPLE)
    finding = located(*START, wrong, wrong, wrong, REVIEWED)
    assert path_of(finding)[-3:] == ["view trimmed dropped-paths", "view answer", "review answer"]
    assert paths(finding) == [APPLE]


def test_a_list_without_a_valid_path_ends_it() -> None:
    wrong = ranked("pkg/nothing.py")
    finding = located(*START, wrong, wrong, wrong)
    assert path_of(finding)[-1] == "view abort invalid-output"
    assert (finding.status, paths(finding)) == (LocalizationStatus.ABORTED, [])


def test_too_many_views() -> None:
    finding = located(*START, view(APPLE), view(PEAR), view(LONG), view(APPLE), ranked(APPLE), REVIEWED)
    assert path_of(finding)[5:7] == [f"view abort-view view_file {APPLE} too-many-views", "view answer"]


def test_the_same_file_too_often() -> None:
    finding = located(*START, view(APPLE), view(APPLE), view(APPLE), view(PEAR), ranked(APPLE), REVIEWED)
    assert path_of(finding)[2:7] == [
        f"view tool view_file {APPLE}",
        f"view tool view_file {APPLE}",
        f"view abort-view view_file {APPLE} too-many-views-of-file",
        f"view tool view_file {PEAR}",
        "view answer",
    ]


def test_a_model_that_never_stops_viewing_is_stopped() -> None:
    finding = located(*START, *[view(APPLE)] * 5)
    assert path_of(finding)[-4:] == [
        *[f"view abort-view view_file {APPLE} too-many-views-of-file"] * 3,
        "view abort still-viewing",
    ]
    assert (finding.status, finding.reason) == (LocalizationStatus.ABORTED, "still-viewing")


def test_calls_are_limited() -> None:
    replies = iter([*START, *[view(APPLE), "?"] * 50])
    model = Scripted(lambda _: next(replies))
    settings = AgentSettings(calls=9, views=100, views_per_file=100)
    finding = investigate(REPORT, SmallRepository(), model, settings)
    assert path_of(finding)[-1] == "view abort too-many-calls"
    assert len(model.asked) == finding.calls == 9


def test_a_file_is_shown_part_by_part() -> None:
    model = Scripted([*START, view(LONG), view(LONG), view(LONG), ranked(LONG), ranked(LONG, scores=[8])])
    settings = AgentSettings(part_tokens=1_500)
    investigate(REPORT, SmallRepository(), model, settings)
    shown = [asked.last for asked in model.asked[4:7]]
    assert ['part="1" of="2"' in shown[0], 'part="2" of="2"' in shown[1], 'part="2" of="2"' in shown[2]] == [True] * 3
    assert "line_0 =" in shown[0]
    assert "line_399 =" not in shown[0]
    assert "line_399 =" in shown[1]


def test_an_empty_file_is_shown_as_such() -> None:
    assert paths(located(*START, view("pkg/empty.py"), ranked(APPLE), REVIEWED)) == [APPLE]


def test_more_files_than_asked_for_are_cut() -> None:
    review = ranked(*list(FILES)[:3], scores=[3, 9, 5])
    assert paths(located(*START, ranked(*list(FILES)[:3]), review)) == [PEAR, LONG]


def test_the_review_may_look_once_more() -> None:
    finding = located(*START, ranked(APPLE), view(PEAR), view(LONG), ranked(PEAR, scores=[10]))
    assert path_of(finding)[-3:] == [
        f"review tool view_file {PEAR}",
        f"review abort-view view_file {LONG} too-many-views",
        "review answer",
    ]
    assert [(place.path, place.confidence) for place in finding.ranking] == [(PEAR, 10)]


@pytest.mark.parametrize("scores", [None, [], [11], [0], ["high"], [9, 9], "9", [9.5], [True]])
def test_a_review_needs_a_confidence_for_each_file(scores: list[object] | None) -> None:
    bad = ranked(APPLE, scores=scores)
    finding = located(*START, ranked(APPLE), bad, REVIEWED)
    assert path_of(finding)[-2:] == ["review reprompt bad-confidence", "review answer"]
    assert finding.ranking[0].confidence == 9


def test_without_a_usable_review_the_list_stands() -> None:
    finding = located(*START, ranked(PEAR, APPLE), "?", "?", "?")
    assert path_of(finding)[-1] == "review abort invalid-output"
    assert (finding.status, finding.reviewed, paths(finding)) == (LocalizationStatus.RANKED, False, [PEAR, APPLE])
    assert finding.ranking[0].confidence is None


def test_the_review_is_a_conversation_of_its_own() -> None:
    model = Scripted([*START, view(APPLE), ranked(APPLE), REVIEWED])
    investigate(REPORT, SmallRepository(), model, SMALL)
    review = model.asked[-1].messages
    assert [message.role for message in review] == [Role.SYSTEM, Role.USER]
    assert all(text in review[1].text for text in (REPORT.statement, "raise ValueError", f"2. {PEAR}"))


def test_a_model_that_does_not_answer_in_time_is_no_miss() -> None:
    late = ProviderFailed("no answer after 60 s", kind="timeout")
    finding = located(*START, late)
    assert path_of(finding)[-1] == "view timeout model-timeout"
    assert finding.status is LocalizationStatus.TIMEOUT
    reviewing = located(*START, ranked(APPLE), late)
    assert (reviewing.status, path_of(reviewing)[-1]) == (LocalizationStatus.RANKED, "review timeout model-timeout")


def test_the_whole_is_limited_in_time() -> None:
    ticks = count(step=100)

    def clock() -> float:
        return float(next(ticks))

    model = Scripted([*START, view(APPLE)])
    finding = investigate(REPORT, SmallRepository(), model, AgentSettings(wall_s=450), clock=clock)
    assert (finding.status, path_of(finding)[-1]) == (LocalizationStatus.TIMEOUT, "view timeout wall-time")
    assert finding.calls == 4


@pytest.mark.parametrize(
    ("error", "reason"), [(ContextTooLong("x"), "context-too-long"), (ContentFiltered("x"), "content-filtered")]
)
def test_what_the_provider_will_not_answer_ends_it(error: Exception, reason: str) -> None:
    finding = located(EXTRACT, error)
    assert (finding.status, finding.reason, path_of(finding)[-1]) == (
        LocalizationStatus.ABORTED,
        reason,
        f"extract abort {reason}",
    )


@pytest.mark.parametrize(
    "error", [ProviderFailed("x", kind="server"), BudgetExhausted("x", what="usd")], ids=["server", "budget"]
)
def test_failures_of_ours_are_nobodys_result(error: Exception) -> None:
    with pytest.raises(type(error)):
        located(*START, error)


def test_an_over_long_report_is_shortened() -> None:
    model = Scripted([ranked(APPLE), REVIEWED])
    report = REPORT.__class__(
        instance_key=REPORT.instance_key,
        repo=REPORT.repo,
        base_commit=REPORT.base_commit,
        statement="begin " + "noise " * 5000 + "end",
    )
    finding = investigate(report, SmallRepository(), model, AgentSettings(statement_tokens=500))
    assert path_of(finding)[0] == "extract trimmed statement"
    asked = model.asked[0].last
    assert "begin noise" in asked
    assert "noise end" in asked
    assert len(asked) < 5000


def test_a_prompt_that_grows_too_long_loses_what_was_shown_first() -> None:
    many = {f"pkg/m{number}.py": f"marker_{number} = 1\n" + "value = 1\n" * 300 for number in range(6)}
    model = Scripted([*START, *map(view, many), ranked("pkg/m0.py"), ranked("pkg/m0.py", scores=[5])])
    settings = AgentSettings(prompt_tokens=4_000)
    finding = investigate(REPORT, SmallRepository(many), model, settings)
    last = "\n".join(message.text for message in model.asked[-2].messages)
    assert "marker_0" not in last
    assert "marker_5" in last
    assert REPORT.statement in last
    reasons = {step.reason for step in finding.steps if step.kind == "trimmed"}
    assert reasons == {"prompt", "evidence"}


def test_a_part_that_the_prompt_has_lost_is_shown_again() -> None:
    many = {f"pkg/m{number}.py": f"marker_{number} = 1\n" + "value = 1\n" * 300 for number in range(6)}
    first = "pkg/m0.py"
    views = [first, *list(many)[1:], first, first]
    model = Scripted([*START, *map(view, views), ranked(first), view("pkg/m1.py"), ranked(first, scores=[5])])
    settings = AgentSettings(prompt_tokens=4_000, views_per_file=1, review_views=1)
    finding = investigate(REPORT, SmallRepository(many), model, settings)
    shown = [asked.last for asked in model.asked if "<file path=" in asked.last]
    assert [f"marker_{number} =" in text for number, text in zip((0, 1, 2, 3, 4, 5, 0, 1), shown, strict=True)] == [
        True
    ] * 8, "the last one is the review's, whose evidence has no room for it"
    assert [step.reason for step in finding.steps if step.kind == "abort-view"] == ["too-many-views-of-file"]


def test_the_parts_of_a_long_file_are_shown_in_order_again() -> None:
    many = {f"pkg/m{number}.py": f"marker_{number} = 1\n" + "value = 1\n" * 300 for number in range(4)}
    views = [LONG, LONG, *many, LONG, LONG]
    repository = SmallRepository({**FILES, **many})
    model = Scripted([*START, *map(view, views), ranked(LONG), ranked(LONG, scores=[5])])
    settings = AgentSettings(prompt_tokens=5_000, part_tokens=1_500)
    investigate(REPORT, repository, model, settings)
    shown = [asked.last for asked in model.asked if f'<file path="{LONG}"' in asked.last]
    assert ['part="1"' in text for text in shown] == [True, False, True, False]


def test_sampling_is_passed_on() -> None:
    model = Scripted([ranked(APPLE), REVIEWED])
    settings = AgentSettings(temperature=0.7, sample=3, reply_tokens=77)
    investigate(REPORT, SmallRepository(), model, settings)
    asked = model.asked[0]
    assert (asked.options.temperature, asked.sample, asked.options.max_tokens) == (0.7, 3, 77)


def placeholders() -> Iterator[str]:
    model = Scripted([*START, view("no.py"), "?", ranked("no.py"), view(APPLE), ranked(APPLE), "?", REVIEWED])
    investigate(REPORT, SmallRepository(), model, AgentSettings(reprompts=5))
    yield from (message.text for asked in model.asked for message in asked.messages)


def test_prompts_leave_no_placeholder() -> None:
    """The report's own braces stay."""
    texts = list(placeholders())
    assert not [text for text in texts if "{{" in text or "{%" in text]
    assert any("{not a placeholder}" in text for text in texts)
