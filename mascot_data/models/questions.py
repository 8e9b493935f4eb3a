"""How questions are put to a server, by what it can do."""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from mascot_data.models import bodies, exact, replies
from mascot_data.models.bodies import Body, Dialect
from mascot_data.models.calls import Caller
from mascot_data.models.chat import Answer, Ask, Chances, Choice, Failure, Message, Sample
from mascot_data.models.exact import Tokens
from mascot_data.models.faults import Refusal
from mascot_data.models.loop import gather
from mascot_data.models.spending import Tokens as Spent
from mascot_data.models.spending import most_prompt_tokens

CHAT = "/chat/completions"
_ANCHOR = "\n"
NO_PREFIX = Failure(
    "template", "this server cannot go on from a given beginning of an answer; vLLM and local models can"
)


class Server(NamedTuple):
    """A model on a server and what that server can do; ``root`` is where its own routes are, ``/tokenize`` for one."""

    model: str
    root: str
    dialect: Dialect
    systemone: bool


class Questions:
    """Puts questions to a server. It belongs to one event loop.

    The first request of each form goes out alone: what the server refuses of it is left out of all others. So it is
    found out once, and the same way in each run.
    """

    def __init__(self, caller: Caller, server: Server) -> None:
        self._caller, self._server = caller, server
        self._refused: set[str] = set()
        self._known: set[frozenset[str]] = set()
        self._alone = asyncio.Lock()
        self._spelling = asyncio.Lock()
        self._spelled: dict[str, Tokens] = {}
        self._systemone: bool | None = None if server.systemone else False
        self._tells_first_tokens = True

    async def sample(self, ask: Ask) -> Answer:
        """Ask for all samples of a question."""
        if ask.prefix and self._server.dialect != "vllm":
            return NO_PREFIX
        begun: Tokens | Failure | None = await self._begun(ask.messages, ask.prefix) if ask.prefix else None
        if isinstance(begun, Failure):
            return begun
        found = await gather(self._sample(ask, seed, begun) for seed in ask.seeds)
        failures = [one for one in found if isinstance(one, Failure)]
        return failures[0] if failures else [one for one in found if isinstance(one, Sample)]

    async def count(self, messages: Sequence[Message], prefix: str) -> int | Failure:
        """Ask vLLM how many tokens a prompt has."""
        found = await self._begun(messages, prefix)
        return found if isinstance(found, Failure) else len(found)

    async def _begun(self, messages: Sequence[Message], prefix: str) -> Tokens | Failure:
        prompt = await self._prompt(messages)
        if isinstance(prompt, Failure) or not prefix:
            return prompt
        spelled = await self._spell([prefix])
        return spelled if isinstance(spelled, Failure) else prompt + spelled[0]

    async def _sample(self, ask: Ask, seed: int, begun: Tokens | None) -> Sample | Failure:
        path, body = CHAT, bodies.chat_body(self._server.model, ask, seed, self._server.dialect)
        if begun is not None:
            path, body = "/completions", bodies.continue_body(self._server.model, begun, ask.sampling, seed)
        most = Spent(most_prompt_tokens([*ask.messages, ("", ask.prefix)]), ask.sampling.max_tokens)
        value = await self.put(path, body, most)
        return value if isinstance(value, Failure) else replies.read_sample(value, ask.sampling.stop)

    async def choose(self, choice: Choice) -> Chances | Failure:
        """Ask how likely the answers are, as exactly as the server can tell."""
        if self._server.dialect == "vllm":
            return await self._exact(choice)
        if self._systemone is not False and len(choice.answers) <= bodies.LETTERS:
            found = await self._by_letters(choice)
            if found is not None:
                return found
        if self._tells_first_tokens and is_one_character(choice):
            first = await self._first_token(choice)
            if not isinstance(first, Failure) or first.reason != "no-logprobs":
                return first
            self._tells_first_tokens = False
        return await self._one_of(choice)

    async def _exact(self, choice: Choice) -> Chances | Failure:
        # Spaces at the end of the prefix go to the answers: most tokenizers join a space to the word that follows it.
        common = choice.prefix.rstrip(" ")
        spaces = choice.prefix[len(common) :]
        begun = await self._begun(choice.messages, common)
        if isinstance(begun, Failure):
            return begun
        answers = await self._spell([f"{spaces}{answer}{choice.suffix}" for answer in choice.answers])
        if isinstance(answers, Failure):
            return answers
        return await self._at_forks(exact.forks(begun, answers))

    async def _at_forks(self, asked: exact.Forks) -> Chances | Failure:
        values = []
        for labels in asked.label_parts():
            body = bodies.next_tokens_body(self._server.model, asked.prompts, labels)
            value = await self.put("/completions", body, Spent(sum(map(len, asked.prompts)), len(asked.prompts)))
            if isinstance(value, Failure):
                return value
            values.append(value)
        return exact.read_forks(values, asked)

    async def _prompt(self, messages: Sequence[Message]) -> Tokens | Failure:
        """Ask vLLM for the tokens of a prompt."""
        return await self._tokens(bodies.tokenize_chat_body(self._server.model, messages))

    async def _spell(self, texts: Sequence[str]) -> list[Tokens] | Failure:
        """Ask vLLM for the tokens of texts in the middle of a message; the same ones come up again and again.

        They are spelled after an anchor, since some tokenizers put a space before a beginning.
        """
        async with self._spelling:
            for text in (_ANCHOR, *(_ANCHOR + text for text in texts)):
                if text not in self._spelled:
                    found = await self._tokens(bodies.tokenize_text_body(self._server.model, text))
                    if isinstance(found, Failure):
                        return found
                    self._spelled[text] = found
        anchor = self._spelled[_ANCHOR]
        return [self._spelled[_ANCHOR + text][len(anchor) :] for text in texts]

    async def _tokens(self, body: Body) -> Tokens | Failure:
        value = await self.put(f"{self._server.root}/tokenize", body)
        if isinstance(value, Failure):
            return value
        tokens = value.get("tokens")
        if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
            return Failure("garbage", "the server answered /tokenize in no known form")
        return tuple(tokens)

    async def _by_letters(self, choice: Choice) -> Chances | Failure | None:
        """Ask through ``/v1/systemone``; None: the server offers it, but cannot do it with this model."""
        if self._systemone is None:
            async with self._alone:
                return await self._ask_letters(choice) if self._systemone is not False else None
        return await self._ask_letters(choice)

    async def _ask_letters(self, choice: Choice) -> Chances | Failure | None:
        body = bodies.systemone_body(self._server.model, choice)
        value = await self._caller.post("/systemone", body, _most(choice), optional=True)
        if isinstance(value, dict):
            found = replies.read_systemone(value, choice)
            self._systemone = self._systemone or found is not None
            return found or Failure("garbage", "the server answered /v1/systemone in no known form")
        if self._systemone is None and (isinstance(value, Refusal) or value.reason == "http-error"):
            self._systemone = False
            return None
        return value.failure if isinstance(value, Refusal) else value

    async def _first_token(self, choice: Choice) -> Chances | Failure:
        """Ask for the likeliest first tokens."""
        value = await self.put(CHAT, bodies.first_token_body(self._server.model, choice), _most(choice, 1))
        return value if isinstance(value, Failure) else replies.read_first_token(value, choice)

    async def _one_of(self, choice: Choice) -> Chances | Failure:
        body = bodies.one_of_body(self._server.model, choice)
        value = await self.put(CHAT, body, _most(choice, body["max_tokens"]))
        return value if isinstance(value, Failure) else replies.read_one_of(value, choice)

    def fitted(self, body: Body) -> Body:
        """Leave out of a body what the server is known to refuse."""
        return bodies.fitted(body, self._refused)

    async def put(self, path: str, body: Body, most: Spent = Spent()) -> dict[str, Any] | Failure:  # noqa: B008
        """Send a body; what the server refuses of it is left out."""
        form = frozenset({path, *body})
        if form not in self._known:
            async with self._alone:
                if form not in self._known:
                    value = await self._put(path, body, most)
                    self._known.add(form)
                    return value
        return await self._put(path, body, most)

    async def _put(self, path: str, body: Body, most: Spent) -> dict[str, Any] | Failure:
        while True:
            sent = self.fitted(body)
            value = await self._caller.post(path, sent, most)
            if not isinstance(value, Refusal):
                return value
            field = bodies.refused_field(sent, value.param, value.what)
            if field is None:
                return value.failure
            self._refused.add(field)


def is_one_character(choice: Choice) -> bool:
    """Tell whether each answer is one character: any tokenizer has a token for it, so that first tokens tell all."""
    alone = not choice.prefix and not choice.suffix
    return alone and all(len(answer) == 1 and answer.isascii() for answer in choice.answers)


def _most(choice: Choice, tokens: int = 0) -> Spent:
    told = sum(len(answer.encode()) for answer in choice.answers) + 200
    return Spent(most_prompt_tokens([*choice.messages, ("", choice.prefix)]) + told, tokens)
