"""What requests cost, and the bound on it."""

import asyncio
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from mascot_data.models.chat import Message, Usage

MILLION = 1_000_000
_TEMPLATE_TOKENS = 16


class Tokens(NamedTuple):
    """Tokens of prompt and answer of one request."""

    prompt: int = 0
    answer: int = 0


def most_prompt_tokens(messages: Sequence[Message]) -> int:
    """Return a bound on the tokens of a prompt: no tokenizer makes more tokens than bytes; a template adds some."""
    return sum(len(content.encode(errors="replace")) + _TEMPLATE_TOKENS for _, content in messages)


class Ledger:
    """Counts requests, tokens and money; ``usage`` is the count so far. One event loop uses it.

    Money for a request is set aside before it is sent, as much as it can cost at most. So requests under way together
    never spend more than ``max_cost``.
    """

    def __init__(self, prices: tuple[float, float] | None, max_cost: float | None) -> None:
        self.usage = Usage()
        self._prices, self._max_cost = prices or (0.0, 0.0), max_cost
        self._aside, self._under_way = 0.0, 0
        self._changed = asyncio.Condition()

    def price(self, tokens: Tokens) -> float:
        """Return what tokens cost."""
        return (tokens.prompt * self._prices[0] + tokens.answer * self._prices[1]) / MILLION

    async def set_aside(self, most: Tokens) -> bool:
        """Set money aside for a request, waiting for others to end where that can help; False: there is not enough."""
        if self._max_cost is None:
            return True
        cost = self.price(most)
        async with self._changed:
            while self._under_way and self.usage.cost + self._aside + cost > self._max_cost:
                await self._changed.wait()
            if self.usage.cost + cost > self._max_cost:
                return False
            self._aside, self._under_way = self._aside + cost, self._under_way + 1
        return True

    async def settle(self, most: Tokens, used: Tokens | None, *, sent: bool = True) -> None:
        """Count a request and what it used; None: the server did not tell, it may have cost the most."""
        if sent:
            self.spend(used or Tokens(), self.price(most if used is None else used))
        if self._max_cost is not None:
            async with self._changed:
                self._under_way -= 1
                self._aside = self._aside - self.price(most) if self._under_way else 0.0
                self._changed.notify_all()

    def spend(self, used: Tokens, cost: float) -> None:
        """Count one request."""
        done = self.usage
        self.usage = Usage(
            done.requests + 1, done.prompt_tokens + used.prompt, done.completion_tokens + used.answer, done.cost + cost
        )

    def affordable(self, requests: Sequence[Tokens]) -> int:
        """Return how many requests, from the first on, there is money for, each at the most that it can use."""
        if self._max_cost is None:
            return len(requests)
        total = accumulate((self.price(most) for most in requests), initial=self.usage.cost)
        return sum(cost <= self._max_cost for cost in total) - 1 if self.usage.cost <= self._max_cost else 0
