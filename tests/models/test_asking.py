"""Nothing that is stored is asked again, whatever part of it, and failures stay where they are."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from mascot_data.models import Ask, Chances, Choice, Failure, Sample, Sampling
from mascot_data.models.asking import CHUNK, Asker, Question
from mascot_data.models.store import IN_MEMORY, Store
from tests.models.scripted import BATCH, Scripted, words_of

SAMPLING = Sampling(0.8, 0.9, 20, ("\nUser:",))


def ask(text: str, *seeds: int) -> Ask:
    return Ask((("system", "s"), ("user", text)), SAMPLING, seeds)


def choice(text: str, *answers: str) -> Choice:
    return Choice((("user", text),), answers, '{"agent": "', '"')


ASKS = [ask(f"prompt {number}", number, number + 1000) for number in range(30)]
CHOICES = [choice(f"room {number}", "anchor", "guide") for number in range(12)]


def test_answers_come_in_the_order_of_the_questions() -> None:
    questions: list[Question] = [*ASKS, *CHOICES]
    questions[::3], questions[1::3] = questions[1::3], questions[::3]
    with Store(IN_MEMORY) as store:
        found = Asker(Scripted(), store)(questions)
    for question, answer in zip(questions, found, strict=True):
        if isinstance(question, Ask):
            assert answer == [words_of(question, seed) for seed in question.seeds]
        else:
            assert answer == Scripted._chances(question)


def test_what_is_stored_is_not_asked_again() -> None:
    with Store(IN_MEMORY) as store:
        first, again = Asker(Scripted(), store), Scripted()
        found = first([*ASKS, *CHOICES])
        second = Asker(again, store)
        assert second([*ASKS, *CHOICES]) == found
        assert second.stored_answers([*ASKS, *CHOICES]) == found
    assert (first.asked, first.stored) == (72, 0)
    assert (second.asked, second.stored, again.asked) == (0, 72, [])


def test_only_the_missing_seeds_of_a_question_are_asked() -> None:
    with Store(IN_MEMORY) as store:
        Asker(Scripted(), store)([ask("a", 1, 3)])
        model = Scripted()
        (found,) = Asker(model, store)([ask("a", 1, 2, 3, 4)])
    assert [seed for _, seed in model.asked] == [2, 4]
    assert found == [words_of(ask("a"), seed) for seed in (1, 2, 3, 4)]


def test_the_same_question_twice_is_asked_once() -> None:
    model = Scripted(fails=lambda question: Failure("timeout", "late") if "b" in question.messages[-1] else None)
    with Store(IN_MEMORY) as store:
        asker = Asker(model, store)
        questions: list[Question] = [ask("a", 1), choice("c", "x", "y"), ask("a", 1), choice("c", "x", "y")]
        found = asker([*questions, ask("b", 1), ask("b", 1)])
    assert found[:2] == found[2:4]
    assert found[4:] == [Failure("timeout", "late")] * 2
    assert (asker.asked, len(model.asked)) == (2, 3)


@pytest.mark.parametrize(
    "other",
    [
        ask("other", 1),
        ask("a", 2),
        ask("a", 1)._replace(prefix="Well"),
        ask("a", 1)._replace(sampling=Sampling(0.9, 0.9, 20, ("\nUser:",))),
        ask("a", 1)._replace(sampling=Sampling(0.8, 0.8, 20, ("\nUser:",))),
        ask("a", 1)._replace(sampling=Sampling(0.8, 0.9, 21, ("\nUser:",))),
        ask("a", 1)._replace(sampling=Sampling(0.8, 0.9, 20, ("\nAnchor:",))),
        ask("a", 1)._replace(messages=(("user", "s"), ("user", "a"))),
    ],
)
def test_a_question_that_differs_in_anything_is_another_one(other: Ask) -> None:
    with Store(IN_MEMORY) as store:
        Asker(Scripted(), store)([ask("a", 1)])
        assert Asker(Scripted(), store).stored_answers([other]) == [None]
        assert Asker(Scripted("another"), store).stored_answers([ask("a", 1)]) == [None]


@pytest.mark.parametrize(
    "other",
    [
        choice("a", "x", "y", "z"),
        choice("a", "y", "x"),
        choice("a", "x", "y")._replace(prefix=""),
        choice("a", "x", "y")._replace(suffix=""),
        choice("b", "x", "y"),
    ],
)
def test_a_choice_that_differs_in_anything_is_another_one(other: Choice) -> None:
    with Store(IN_MEMORY) as store:
        Asker(Scripted(), store)([choice("a", "x", "y")])
        assert Asker(Scripted(), store).stored_answers([other]) == [None]


def test_a_failure_harms_no_other_and_is_tried_again() -> None:
    failed = Failure("context-too-long", "the prompt is too long")
    model = Scripted(fails=lambda question: failed if "prompt 7" in question.messages[-1] else None)
    with Store(IN_MEMORY) as store:
        asker = Asker(model, store)
        found = asker(ASKS)
        assert [index for index, answer in enumerate(found) if answer == failed] == [7]
        assert asker.asked == 58
        better = Scripted()
        again = Asker(better, store)(ASKS)
    assert [messages[-1] for messages, _ in better.asked] == [("user", "prompt 7")] * 2
    assert again[7] == [words_of(ASKS[7], seed) for seed in (7, 1007)]
    assert [*again[:7], *again[8:]] == [*found[:7], *found[8:]]


def test_every_batch_is_stored_before_the_next_is_asked() -> None:
    with Store(IN_MEMORY) as store:
        seen: list[int] = []

        def before(questions: Sequence[Question]) -> None:
            seen.append(sum(found is not None for found in other.stored_answers(ASKS)))

        model = Scripted(before=before)
        other = Asker(Scripted(), store)
        Asker(model, store)(ASKS)
    assert seen == [0, BATCH, 2 * BATCH, 3 * BATCH]


def test_batches_are_the_same_whatever_is_stored() -> None:
    with Store(IN_MEMORY) as store:
        order = Scripted()
        whole = order.batches(ASKS)
        Asker(Scripted(), store)([ASKS[index] for index in whole[1]])
        model = Scripted()
        Asker(model, store)(ASKS)
    prompts = [messages[-1][1] for messages, _ in model.asked[::2]]
    assert prompts == [ASKS[index].messages[-1][1] for batch in (*whole[:1], *whole[2:]) for index in batch]


def test_the_plan_counts_what_is_then_asked() -> None:
    with Store(IN_MEMORY) as store:
        Asker(Scripted(), store)([*ASKS[:10], ask("prompt 11", 11)])
        asker = Asker(Scripted(), store)
        plan = asker.plan(ASKS)
        asker(ASKS)
    assert (plan.samples, plan.stored, plan.samples - plan.stored) == (60, 21, asker.asked)
    assert plan.prompt_tokens == 20 * 3
    assert plan.most_tokens == asker.asked * SAMPLING.max_tokens


def test_progress_is_told_after_each_batch_and_large_runs_are_parted() -> None:
    told: list[int] = []
    questions = [ask(f"prompt {number:05}", number) for number in range(CHUNK + 10)]
    with Store(IN_MEMORY) as store:
        asker = Asker(Scripted(), store, told.append)
        assert len(asker(questions)) == len(questions)
    assert told[0] == BATCH
    assert told[-1] == len(questions)
    assert told == sorted(told)


@pytest.mark.parametrize(
    ("said", "kept"),
    [("half \ud83d", "half \ufffd"), ("\ud83d\ude00 whole", "\U0001f600 whole"), ("nul\0", "nul\0")],
)
def test_half_a_character_is_replaced_and_the_same_from_the_store(said: str, kept: str, tmp_path: Path) -> None:
    model = Scripted(says=lambda ask, seed: Sample(said, "stop", None, 1, 1))
    with Store(tmp_path / "store") as store:
        assert Asker(model, store)([ask("a", 1)]) == [[Sample(kept, "stop", None, 1, 1)]]
        assert Asker(model, store).stored_answers([ask("a", 1)]) == [[Sample(kept, "stop", None, 1, 1)]]


def test_impossible_answers_and_unknown_mass_come_back_from_the_store() -> None:
    chances = Chances((float("-inf"), -0.5), None, 3)

    class Sure(Scripted):
        def choose(self, choices: Sequence[Choice]) -> list[Chances | Failure]:
            return [chances for _ in choices]

    with Store(IN_MEMORY) as store:
        assert Asker(Sure(), store)([choice("a", "x", "y")]) == [chances]
        assert Asker(Scripted(), store)([choice("a", "x", "y")]) == [chances]
