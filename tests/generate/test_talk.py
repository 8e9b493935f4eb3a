from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.generate.talk import (
    Found,
    Part,
    Question,
    Talk,
    TalkFailed,
    chances_in,
    chosen,
    hold_all,
    sampled,
    samples_in,
)
from mascot_data.models.chat import Ask, Chances, Choice, Failure, Sample, Sampling

PARTS: tuple[Part, ...] = ("speaker", "director", "user")
FAILED = Failure("timeout", "it took too long")
Plan = list[list[tuple[Part, str]]]

plans = st.lists(
    st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(["good", "bad", "choice"])), max_size=3), max_size=4
)


def a_sample(text: str) -> Sample:
    return Sample(text, "stop", None, 1, 1)


def content(text: str) -> Ask | Choice:
    messages = (("user", text),)
    return Choice(messages, ("a", "b")) if "choice" in text else Ask(messages, Sampling(), (0,))


def follow(name: str, plan: Plan) -> Talk[list[str]]:
    """Ask as planned; end with what was answered, or fail where a sample is bad."""
    heard: list[str] = []
    for number, together in enumerate(plan):
        texts = [f"{name} {number} {place} {kind}" for place, (_, kind) in enumerate(together)]
        found = yield [Question(part, content(text)) for (part, _), text in zip(together, texts, strict=True)]
        for text, answer in zip(texts, found, strict=True):
            if "choice" in text:
                assert chances_in(answer).logprobs == (float(-len(text)), 0.0)
            else:
                heard += [sample.text for sample in samples_in(answer)]
    return heard


class Answering:
    """Answers with what was asked; what is bad fails. Remembers each call."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def __call__(self, questions: Sequence[Ask | Choice]) -> list[Found]:
        texts = [question.messages[0][1] for question in questions]
        self.calls.append(texts)
        return [self._found(text) for text in texts]

    @staticmethod
    def _found(text: str) -> Found:
        if "choice" in text:
            return Chances((float(-len(text)), 0.0), None, 1)
        return FAILED if "bad" in text else [a_sample(text)]


def expected(name: str, plan: Plan) -> list[str] | Failure:
    texts = [
        f"{name} {n} {place} {kind}" for n, together in enumerate(plan) for place, (_, kind) in enumerate(together)
    ]
    return FAILED if any("bad" in text for text in texts) else [text for text in texts if "choice" not in text]


@given(st.lists(plans, max_size=5))
def test_each_gets_its_own_answers_and_fails_alone(found: list[Plan]) -> None:
    named = {f"t{number}": plan for number, plan in enumerate(found)}
    talks = {name: follow(name, plan) for name, plan in named.items()}
    results = list(hold_all(talks, {part: Answering() for part in PARTS}))
    assert len(results) == len(named)
    assert dict(results) == {name: expected(name, plan) for name, plan in named.items()}


@given(st.lists(plans, max_size=5))
def test_all_ask_together(found: list[Plan]) -> None:
    named = {f"t{number}": plan for number, plan in enumerate(found)}
    answering = {part: Answering() for part in PARTS}
    list(hold_all({name: follow(name, plan) for name, plan in named.items()}, answering))
    for part in PARTS:
        rounds = []
        for number in range(max(map(len, found), default=0)):
            asked = [
                f"{name} {number} {place} {kind}"
                for name, plan in named.items()
                if number < len(plan) and "bad" not in [kind for before in plan[:number] for _, kind in before]
                for place, (mine, kind) in enumerate(plan[number])
                if mine == part
            ]
            rounds += [asked] if asked else []
        assert answering[part].calls == rounds


def test_results_come_as_soon_as_they_are_there() -> None:
    one: Plan = [[("user", "good")]]
    talks = {"long": follow("long", one * 3), "none": follow("none", []), "short": follow("short", one)}
    assert [name for name, _ in hold_all(talks, {"user": Answering()})] == ["none", "short", "long"]


def test_one_question_at_a_time() -> None:
    def talk() -> Talk[tuple[str, tuple[float, ...]]]:
        (sample,) = yield from sampled("user", Ask((("user", "hello"),), Sampling(), (0,)))
        chances = yield from chosen("user", Choice((("user", "choice"),), ("a", "b")))
        return sample.text, chances.logprobs

    assert list(hold_all({"one": talk()}, {"user": Answering()})) == [("one", ("hello", (-6.0, 0.0)))]


@pytest.mark.parametrize("take", [samples_in, chances_in])
def test_what_failed_ends_the_conversation(take: object) -> None:
    assert callable(take)
    with pytest.raises(TalkFailed, match="too long") as caught:
        take(FAILED)
    assert caught.value.failure == FAILED


def test_a_mistake_in_a_conversation_is_not_hidden() -> None:
    def talk() -> Talk[None]:
        yield [Question("user", content("good"))]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(hold_all({"one": talk()}, {"user": Answering()}))
