"""From messages to tokens with a model's chat template, so that no text can pose as a control token.

The tokens of a message are those of the rendered template, then those of the prefix, then those of what follows. Each
part is tokenized by itself, so that the tokens of one never depend on the next; a part in the middle of a message is
tokenized as text in the middle, without the space that some tokenizers put before a beginning.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jinja2

from mascot_data.build.projection import fit_template
from mascot_data.errors import ModelError
from mascot_data.models.chat import Ask, Choice, Message

Messages = tuple[Message, ...]

_ANCHORS = ("\n", '"', ":", ".")
_PROBES = {
    "plain": (("user", "probe-one"),),
    "system": (("system", "probe-one"), ("user", "probe-two")),
    "alternate": (("user", "probe-one"), ("user", "probe-two")),
}
# Today's date in a prompt would make a run that goes on tomorrow another one.
_ONE_DAY = "{%- macro strftime_now(format) -%}01 Jan 2025{%- endmacro -%}"


class TemplateRefusal(Exception):  # noqa: N818  # becomes a Failure, not an error
    """The chat template does not take these messages."""


class Parts(NamedTuple):
    """The tokens of a question: those that the model reads first, and those of each answer of a Choice."""

    common: tuple[int, ...]
    answers: tuple[tuple[int, ...], ...] = ()


class Prompts:
    """Renders and tokenizes for one model; what its template does not take is fitted to it first.

    Raises:
        ModelError: there is no chat template, or it cannot be used.
    """

    def __init__(self, tokenizer: Any, name: str, template: str | None = None) -> None:
        text = tokenizer.chat_template if template is None else template
        text = text.get("default") if isinstance(text, dict) else text
        if not text:
            raise ModelError(f"{name}: the model has no chat template; give one with  --chat-template FILE")
        tokenizer.chat_template = _ONE_DAY + text if "strftime_now" in text else text
        self._tokenizer = tokenizer
        if not self._takes("plain"):
            raise ModelError(f"{name}: the chat template cannot be used; give another one with  --chat-template FILE")
        self._system, self._free = self._takes("system"), self._takes("alternate")
        self._rendered = lru_cache(maxsize=2048)(self._render)
        self.inside = lru_cache(maxsize=4096)(self._inside)

    def encode(self, messages: Sequence[Message], prefix: str = "") -> tuple[int, ...]:
        """Return the tokens of a prompt up to where the model goes on.

        Raises:
            TemplateRefusal: the template does not take the messages.
        """
        return self._rendered(tuple(messages)) + self.inside(prefix)

    def parts_of(self, question: Ask | Choice) -> Parts:
        """Return the tokens of a question.

        Spaces at the end of a Choice's prefix go to its answers: most tokenizers join a space to the word that follows.

        Raises:
            TemplateRefusal: the template does not take the messages.
        """
        if isinstance(question, Ask):
            return Parts(self.encode(question.messages, question.prefix))
        common = question.prefix.rstrip(" ")
        spaces = question.prefix[len(common) :]
        answers = (self.inside(f"{spaces}{answer}{question.suffix}") for answer in question.answers)
        return Parts(self.encode(question.messages, common), tuple(answers))

    def text(self, before: Sequence[int], tokens: Sequence[int]) -> str:
        """Return the text of tokens that follow others in a message; special tokens have none."""
        whole = self._decode([*before, *tokens])
        return whole[len(self._decode(before)) :] if before else whole

    def _decode(self, tokens: Sequence[int]) -> str:
        decoded: str = self._tokenizer.decode(
            list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return decoded

    def _inside(self, text: str) -> tuple[int, ...]:
        """Tokenize text from the middle of a message: behind an anchor with which its first token does not merge."""
        if not text:
            return ()
        for mark in _ANCHORS:
            anchor, anchored = self._plain(mark), self._plain(mark + text)
            if anchored[: len(anchor)] == anchor:
                return anchored[len(anchor) :]
        return self._plain(text)

    def _plain(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True))

    def _render(self, messages: Messages) -> tuple[int, ...]:
        fitted = fit_template(messages, system=self._system, alternate=not self._free)
        try:
            return tuple(self._apply(fitted, tokenize=True))
        except (jinja2.TemplateError, ValueError, TypeError, NotImplementedError) as error:
            raise TemplateRefusal(" ".join(str(error).split())[:200]) from error

    def _apply(self, messages: Sequence[Message], *, tokenize: bool) -> Any:
        return self._tokenizer.apply_chat_template(
            [{"role": role, "content": content} for role, content in messages],
            add_generation_prompt=True,
            tokenize=tokenize,
            return_dict=False,
            sanitize_control_tokens=tokenize,
            enable_thinking=False,  # the answer is wanted at once
        )

    def _takes(self, probe: str) -> bool:
        """Tell whether the template takes the messages of a probe without an error and without leaving one out."""
        messages = _PROBES[probe]
        try:
            text = self._apply(messages, tokenize=False)
        except (jinja2.TemplateError, ValueError, TypeError):
            return False
        return all(content in text for _, content in messages)
