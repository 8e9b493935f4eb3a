"""Conversations written as straight code: each yields what it wants to ask, and is handed the answers.

Many of them run in step (``hold_all``), so that a model is asked by all of them in one batch.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from mascot_data.models.chat import Ask, Chances, Choice, Failure, Reason, Sample

Part = Literal["speaker", "director", "user"]
"""Who asks; each may have a model of its own."""

Found = list[Sample] | Chances | Failure
T = TypeVar("T")


class Question(NamedTuple):
    """A question to the model of a part."""

    part: Part
    content: Ask | Choice


Talk = Generator[list[Question], list[Found], T]
"""A conversation: yields questions that can be answered at once, gets their answers in order, ends with a result."""

Answerer = Callable[[Sequence[Ask | Choice]], list[Found]]
"""Answers questions to one model, in order; see ``asking.Asker``."""


class TalkFailed(Exception):  # noqa: N818  # an outcome of one conversation, caught by ``hold_all``
    """A question that a conversation cannot go on without got no answer."""

    def __init__(self, reason: Reason, what: str) -> None:
        super().__init__(what)
        self.failure = Failure(reason, what)


def sampled(part: Part, ask: Ask) -> Talk[list[Sample]]:
    """Ask for samples.

    Raises:
        TalkFailed: there are none.
    """
    (found,) = yield [Question(part, ask)]
    return samples_in(found)


def chosen(part: Part, choice: Choice) -> Talk[Chances]:
    """Ask how likely given answers are.

    Raises:
        TalkFailed: there is no telling.
    """
    (found,) = yield [Question(part, choice)]
    return chances_in(found)


def chances_in(found: Found) -> Chances:
    """Return the chances of an answer; for several questions at once.

    Raises:
        TalkFailed: there is no telling.
    """
    if isinstance(found, Failure):
        raise TalkFailed(*found)
    assert isinstance(found, Chances)
    return found


def samples_in(found: Found) -> list[Sample]:
    """Return the samples of an answer; for several questions at once.

    Raises:
        TalkFailed: there are none.
    """
    if isinstance(found, Failure):
        raise TalkFailed(*found)
    assert isinstance(found, list)
    return found


def hold_all(talks: Mapping[str, Talk[T]], answerers: Mapping[Part, Answerer]) -> Iterator[tuple[str, T | Failure]]:
    """Run conversations in step to their ends, and yield each result as it comes, or why there is none.

    In every round all conversations that still run ask their questions together, so the batches that a model sees
    depend on the conversations alone and not on what was stored before.
    """
    waiting: dict[str, list[Question]] = {}
    for name, talk in talks.items():
        yield from _go_on(name, talk, None, waiting)
    while waiting:
        now, waiting = waiting, {}
        found = _ask(now, answerers)
        for name in now:
            yield from _go_on(name, talks[name], found[name], waiting)


def _go_on(
    name: str, talk: Talk[T], found: list[Found] | None, waiting: dict[str, list[Question]]
) -> Iterator[tuple[str, T | Failure]]:
    try:
        waiting[name] = next(talk) if found is None else talk.send(found)
    except StopIteration as end:
        yield name, end.value
    except TalkFailed as failed:
        yield name, failed.failure


def _ask(waiting: Mapping[str, list[Question]], answerers: Mapping[Part, Answerer]) -> dict[str, list[Found]]:
    answers: dict[str, list[Found]] = {name: [] for name in waiting}
    places = [(name, index) for name, questions in waiting.items() for index in range(len(questions))]
    found: dict[tuple[str, int], Found] = {}
    for part, answerer in answerers.items():
        mine = [place for place in places if waiting[place[0]][place[1]].part == part]
        if mine:
            contents = [waiting[name][index].content for name, index in mine]
            found.update(zip(mine, answerer(contents), strict=True))
    for name, index in places:
        answers[name].append(found[name, index])
    return answers
