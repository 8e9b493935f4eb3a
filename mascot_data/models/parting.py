"""Parting questions into batches, and counting what their answers took."""

from collections.abc import Sequence
from typing import NamedTuple

from mascot_data.models.chat import Ask, Chances, Choice, Failure, Sample, Usage
from mascot_data.models.prompting import Parts


class Size(NamedTuple):
    """What a question takes in a batch: tokens of its longest row (prompt and answer), and rows; and its prompt."""

    length: int
    rows: int
    prompt: tuple[int, ...] = ()


def size_of(question: Ask | Choice, parts: Parts | Failure) -> Size:
    """Return what a question takes; one that cannot be asked takes nothing."""
    if isinstance(parts, Failure):
        return Size(0, 0)
    if isinstance(question, Ask):
        return Size(len(parts.common) + question.sampling.max_tokens, len(question.seeds), parts.common)
    longest = max(map(len, parts.answers), default=0)
    return Size(len(parts.common) + longest, len(parts.answers), parts.common)


def part(sizes: Sequence[Size], budget: int) -> list[list[int]]:
    """Part questions into batches of at most ``budget`` tokens, padding included.

    They are in the order of their prompts' tokens: what begins alike comes together, and is read once.
    """
    batches: list[list[int]] = []
    length = rows = 0
    for place in sorted(range(len(sizes)), key=lambda place: (sizes[place].prompt, place)):
        size = sizes[place]
        if batches and max(length, size.length) * (rows + size.rows) <= budget:
            batches[-1].append(place)
            length, rows = max(length, size.length), rows + size.rows
        else:
            batches.append([place])
            length, rows = size.length, size.rows
    return batches


def largest_first(batches: Sequence[list[int]], sizes: Sequence[Size]) -> list[list[int]]:
    """Put the largest batch first, so that it shows at once what does not fit."""
    largest = max(batches, key=lambda batch: tokens_of([sizes[place] for place in batch]), default=[])
    return [largest, *(batch for batch in batches if batch is not largest)] if largest else []


def tokens_of(sizes: Sequence[Size]) -> int:
    """Return how many tokens a batch has, padding included."""
    return max(size.length for size in sizes) * sum(size.rows for size in sizes)


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
