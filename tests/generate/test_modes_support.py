from collections.abc import Callable, Sequence

import pytest

from mascot_data.build.tables import table
from mascot_data.generate.cases import Case
from mascot_data.generate.stage import Heard, Stage
from mascot_data.models.chat import Ask, Choice
from mascot_data.records.dialogue import Source
from tests.generate.scenes import Fake, make_scene, prompt_of, respond

OPENING = (
    Heard("user", "User", "user", None, "I have to move for my job."),
    Heard("assistant", "Assistant", "agent", None, "Oh no."),
    Heard("user", "User", "user", None, "And my mum is ill."),
)


def prefer(*wanted: str) -> Callable[[Choice], Sequence[float]]:
    """Prefer these answers, one choice after the other."""
    left = iter(wanted)

    def chances(choice: Choice) -> Sequence[float]:
        answer = next(left)
        assert answer in choice.answers
        return [0.0 if other == answer else -1000.0 for other in choice.answers]

    return chances


def play(*wanted: str, source: Source = "esconv", cases: Sequence[Case] = ()) -> tuple[Stage, Fake]:
    fake = Fake(chances=prefer(*wanted))
    scene = make_scene(source, opening=OPENING, cases=lambda said, most: list(cases)[:most])
    return respond("multi-agent-esc", scene, fake), fake


def kinds(fake: Fake) -> list[str]:
    return [f"{len(asked)} {'ask' if isinstance(asked[0], Ask) else 'choice'}" for _, asked in fake.rounds]


def test_at_first_there_is_one_direct_reply_and_no_question_of_the_gate() -> None:
    fake = Fake()
    stage = respond("multi-agent-esc", make_scene(), fake)
    assert kinds(fake) == ["1 ask"]
    assert "One short sentence" in fake.asks("speaker")[0].messages[0][1]
    assert stage.steps[0].reasoning == "Direct reply: the conversation has just begun"


def test_the_gate_keeps_to_a_direct_reply() -> None:
    stage, fake = play("No")
    assert kinds(fake) == ["1 choice", "1 ask"]
    assert stage.steps[0].reasoning == "Direct reply: emotion, cause and intention are not visible yet"


FULL = ["1 choice", *["1 ask"] * 3, "3 choice", "3 ask", "3 ask", "3 ask", "3 choice", "1 ask"]


def test_the_whole_pipeline() -> None:
    strategies = ("Question", "Information", "Self-disclosure")
    stage, fake = play("Yes", *strategies, "Reply 2", "Reply 3", "Reply 2")
    assert kinds(fake) == FULL
    emotion, cause, intention, *rest = fake.asks("speaker")
    assert "Which emotion" in prompt_of(emotion)
    assert "Emotion: I say" in prompt_of(cause)
    assert "Cause: I say" in prompt_of(intention)
    for strategy, ask in zip(strategies, rest[:3], strict=True):
        assert f"Your reply does this: {strategy}." in ask.messages[0][1]
        assert "- Intention: I say" in ask.messages[0][1]
    told = (stage.steps[0].reasoning or "").splitlines()
    replies = [line for line in told if line.startswith("Reply ")]
    assert [line[:8] for line in replies] == ["Reply 1:", "Reply 2:", "Reply 3:"]
    assert "Votes: Reply 2, Reply 3, Reply 2" in told
    assert "Strategies: Question, Information, Self-disclosure" in told
    assert "Cases: none" in told
    assert f"Your first draft: {replies[1][9:]}\n" in fake.asks("speaker")[-1].messages[0][1]
    assert not any(stage.heard[-1].text in line for line in told)


def test_everybody_reflects_on_what_all_have_said() -> None:
    _, fake = play("Yes", "Question", "Information", "Self-disclosure", "Reply 1", "Reply 1", "Reply 1")
    debate, reflection = fake.asks("speaker")[6:9], fake.asks("speaker")[9:12]
    views = ["emotion", "cause", "intention"]
    for step in (debate, reflection):
        assert all(f"above all at the {view} of" in ask.messages[-1][1] for view, ask in zip(views, step, strict=True))
    assert not any("What was said about" in prompt_of(ask) for ask in debate)
    opinions = [line for line in prompt_of(reflection[0]).splitlines() if line.startswith("- I say")]
    assert len(set(opinions)) == 3
    assert all("\n".join(opinions) in prompt_of(ask) for ask in reflection)
    votes = fake.choices("speaker")[-3:]
    assert all(choice.answers == ("Reply 1", "Reply 2", "Reply 3") for choice in votes)
    assert not any(opinions[0] in prompt_of(choice) for choice in votes)


def test_a_judge_decides_between_those_that_are_tied() -> None:
    stage, fake = play("Yes", "Question", "Information", "Self-disclosure", "Reply 3", "Reply 1", "Reply 2", "Reply 2")
    assert kinds(fake) == [*FULL[:-1], "1 choice", "1 ask"]
    judge = fake.choices("speaker")[-1]
    assert set(judge.answers) == {"Reply 1", "Reply 2", "Reply 3"}
    assert "Look above all" not in prompt_of(judge)
    assert "Judge: Reply 2" in (stage.steps[0].reasoning or "")


def test_a_tie_of_two_leaves_the_third_out() -> None:
    stage, fake = play("Yes", "Question", "Information", "Question", "Reply 2", "Reply 2", "Reply 1")
    assert kinds(fake) == [*FULL[:5], "2 ask", *FULL[6:]]
    assert "Judge" not in (stage.steps[0].reasoning or "")


def test_one_strategy_needs_no_debate() -> None:
    stage, fake = play("Yes", "Question", "Question", "Question")
    assert kinds(fake) == [*FULL[:5], "1 ask", "1 ask"]
    assert "Votes" not in (stage.steps[0].reasoning or "")


@pytest.mark.parametrize("source", ["esconv", "empathetic-dialogues", "qmsum"])
def test_the_strategies_are_the_labels_of_the_corpus(source: Source) -> None:
    acts = table("acts").get(source, {"actions": {}, "neutral": []})
    labels = set(acts["actions"]) - set(acts["neutral"]) or set(table("directives")["meeting"].values())
    one = sorted(labels)[0]
    _, fake = play("Yes", one, one, one, source=source)
    assert all(set(choice.answers) == labels for choice in fake.choices("speaker")[1:])


def test_similar_cases_are_shown_to_those_who_choose_a_strategy() -> None:
    cases = [Case(f"esconv:{n}", f"I fear\nmove {n}", "Question", "Why " + "so " * 80) for n in range(12)]
    asked: list[tuple[str, int]] = []

    def search(said: str, most: int) -> list[Case]:
        asked.append((said, most))
        return cases[:most]

    fake = Fake(chances=prefer("Yes", *["Question"] * 3))
    stage = respond("multi-agent-esc", make_scene(opening=OPENING, cases=search), fake)
    assert asked == [("And my mum is ill.", 10)]
    for choice in fake.choices("speaker")[1:]:
        shown = prompt_of(choice)
        assert '- To "I fear move 9" came Question: "Why so so' in shown
        assert "move 10" not in shown
        assert max(map(len, shown.splitlines())) < 400
    assert "Cases: esconv:0, esconv:1, " in (stage.steps[0].reasoning or "")
