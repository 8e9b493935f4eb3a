"""Parting questions into batches, and counting what their answers took."""

from collections.abc import Sequence
from typing import NamedTuple

from mascot_data.models.chat import Ask, Chances, Choice, Failure, Sample, Usage
from mascot_data.models.prompting import Parts

Tokens = Sequence[int]


class Size(NamedTuple):
    """What a question takes in a batch: tokens of its longest row (prompt and answer), and rows; and its prompt.

    ``branches`` are the tokens that it takes in a packed tree beyond its prompt (None: it is not packed).
    """

    length: int
    rows: int
    prompt: tuple[int, ...] = ()
    branches: int | None = None


def size_of(question: Ask | Choice, parts: Parts | Failure, *, packs: bool) -> Size:
    """Return what a question takes; one that cannot be asked takes nothing."""
    if isinstance(parts, Failure):
        return Size(0, 0)
    if isinstance(question, Ask):
        return Size(len(parts.common) + question.sampling.max_tokens, len(question.seeds), parts.common)
    longest = max(map(len, parts.answers), default=0)
    length = len(parts.common) + longest
    return Size(length, len(parts.answers), parts.common, branch_tokens(parts) if packs else None)


def part(sizes: Sequence[Size], budget: int) -> list[list[int]]:
    """Part questions into batches of at most ``budget`` tokens, padding included.

    They are in the order of their prompts' tokens: what begins alike comes together, and is read once.
    """
    batches: list[list[int]] = []
    filled = _NOTHING
    for place in sorted(range(len(sizes)), key=lambda place: (sizes[place].prompt, place)):
        more = filled.plus(sizes[place])
        if batches and more.tokens <= budget:
            batches[-1].append(place)
            filled = more
        else:
            batches.append([place])
            filled = _NOTHING.plus(sizes[place])
    return batches


class _Filled(NamedTuple):
    """What a batch has so far: its longest row and its rows, the tokens of its tree, and the last prompt in it."""

    length: int
    rows: int
    tree: int
    last: tuple[int, ...]

    @property
    def tokens(self) -> int:
        return self.length * self.rows + self.tree

    def plus(self, size: Size) -> "_Filled":
        if size.branches is None:
            return self._replace(length=max(self.length, size.length), rows=self.rows + size.rows)
        new = len(size.prompt) - shared_tokens(self.last, size.prompt) + size.branches
        return self._replace(tree=self.tree + new, last=size.prompt)


_NOTHING = _Filled(0, 0, 0, ())


def largest_first(batches: Sequence[list[int]], sizes: Sequence[Size]) -> list[list[int]]:
    """Put the largest batch first, so that it shows at once what does not fit."""
    largest = max(batches, key=lambda batch: tokens_of([sizes[place] for place in batch]), default=[])
    return [largest, *(batch for batch in batches if batch is not largest)] if largest else []


def tokens_of(sizes: Sequence[Size]) -> int:
    """Return how many tokens a batch has, padding included; sizes that share a beginning come one after the other."""
    filled = _NOTHING
    for size in sizes:
        filled = filled.plus(size)
    return filled.tokens


def spent(before: Usage, found: Sequence[list[Sample] | Chances | Failure]) -> Usage:
    """Add answers to what was used so far; failures count for nothing."""
    requests, prompt_tokens, completion_tokens, cost = before
    for answer in found:
        if isinstance(answer, Chances):
            requests, prompt_tokens = requests + 1, prompt_tokens + answer.prompt_tokens
        elif isinstance(answer, list):
            requests, prompt_tokens = (
                requests + 1,
                prompt_tokens + max((each.prompt_tokens for each in answer), default=0),
            )
            completion_tokens += sum(each.tokens for each in answer)
    return Usage(requests, prompt_tokens, completion_tokens, cost)


def shared_tokens(one: Tokens, other: Tokens) -> int:
    """Return how many tokens two sequences begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (mine, theirs) in enumerate(pairs) if mine != theirs), min(len(one), len(other)))


def branch_tokens(parts: Parts) -> int:
    """Return how many tokens of a tree the answers of a choice take."""
    return len({answer[:end] for answer in parts.answers for end in range(1, len(answer))})
