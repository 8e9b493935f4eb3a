"""What comes back from a server, which may be anything: read into samples and chances, or into failures."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from mascot_data.build.views import estimate_tokens
from mascot_data.models.chat import Chances, Choice, Failure, Sample, Stop

SHOWN = 200
"""Most characters of a server's own words in an error."""

SECRET = 8
"""A key shorter than this (``-``, ``none``) is no secret, and would be found in any text."""


def shown(text: str, secret: str = "") -> str:
    """Return a server's words as one short line without control characters and without the key."""
    text = text.replace(secret, "***") if len(secret) >= SECRET else text
    line = " ".join(text.split())
    line = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in line)
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"


def parse(content: bytes) -> dict[str, Any] | None:
    """Read a body as a JSON object; None where it is anything else."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def error_in(value: Mapping[str, Any] | None) -> tuple[str, str, str]:
    """Return message, code and parameter of an error body in OpenAI's form or FastAPI's; empty where there is none."""
    error = (value or {}).get("error", (value or {}).get("detail", ""))
    if not isinstance(error, dict):
        return (error if isinstance(error, str) else json.dumps(error)), "", ""
    message, code, param = (error.get(name) for name in ("message", "code", "param"))
    return str(message or ""), str(code or error.get("type") or ""), str(param or "")


def tokens_used(value: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the tokens of prompt and answer that a server counted; None where it does not tell."""
    usage = value.get("usage")
    if not isinstance(usage, dict):
        return None
    prompt = usage.get("prompt_tokens", usage.get("input_tokens"))
    answer = usage.get("completion_tokens", usage.get("output_tokens", 0))
    if isinstance(prompt, int) and isinstance(answer, int) and prompt >= 0 and answer >= 0:
        return prompt, answer
    return None


def read_sample(value: Mapping[str, Any], stop: Sequence[str] = ()) -> Sample | Failure:
    """Read a chat completion or a completion with one choice.

    Text from the first stop string on is cut off: some servers leave it, and some know no stop strings.
    """
    choice = _first(value.get("choices"))
    if choice is None:
        return Failure("empty", "the server gave no choice") if value.get("choices") == [] else _garbage(value)
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else choice.get("text")
    finish = choice.get("finish_reason")
    if text is None and ("message" in choice or "text" in choice):
        return Failure("empty", f"the server gave a choice without content (finish_reason {shown(str(finish))})")
    if not isinstance(text, str) or finish not in ("stop", "length"):
        return _garbage(value)
    if not text and finish == "length":
        return Failure("empty", "the model used up all tokens before it said anything; allow more with --max-tokens")
    return _sample(text, "length" if finish == "length" else "stop", choice, value, stop)


def _sample(
    text: str, finish: Stop, choice: Mapping[str, Any], value: Mapping[str, Any], stop: Sequence[str]
) -> Sample:
    logprobs = _logprobs(choice.get("logprobs"))
    prompt, tokens = tokens_used(value) or (0, len(logprobs) if logprobs else estimate_tokens(text))
    cut = min((at for mark in stop if (at := text.find(mark)) >= 0), default=None)
    total = math.fsum(logprobs) if logprobs else None
    return Sample(clean(text[:cut]), finish if cut is None else "stop", total, tokens, prompt)


def clean(text: str) -> str:
    """Replace lone surrogates, which JSON can hold and UTF-8 cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _garbage(value: Mapping[str, Any]) -> Failure:
    return Failure("garbage", f"the server answered in no known form: {shown(json.dumps(value)[: 2 * SHOWN])}")


def _first(choices: object) -> dict[str, Any] | None:
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None


def _logprobs(found: object) -> list[float] | None:
    """Return the log-probabilities of the tokens, from either form; None unless all of them are numbers."""
    if not isinstance(found, dict):
        return None
    content = found.get("content")
    values = [item.get("logprob") if isinstance(item, dict) else None for item in content] if content else None
    values = values or found.get("token_logprobs")
    if not isinstance(values, list) or not values or not all(_is_number(value) for value in values):
        return None
    return [float(value) for value in values]


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def read_systemone(value: Mapping[str, Any], choice: Choice) -> Chances | None:
    """Read the probabilities of the answers; None where they are not all there."""
    answers = value.get("answers")
    answer = answers.get("answer") if isinstance(answers, dict) else None
    found = answer.get("probabilities") if isinstance(answer, dict) else None
    if not isinstance(found, dict):
        return None
    told = [found.get(name) for name in choice.answers]
    chances = [value for value in told if _is_number(value) and 0 <= value <= 1]
    if len(chances) != len(told):
        return None
    return Chances(tuple(map(_log, chances)), None, (tokens_used(value) or (0, 0))[0])


def _log(chance: float) -> float:
    return math.log(chance) if chance > 0 else -math.inf


def read_first_token(value: Mapping[str, Any], choice: Choice) -> Chances | Failure:
    """Read how likely answers of one character each are; one that is not among the likeliest tokens is impossible."""
    first = _first(value.get("choices")) or {}
    logprobs = first.get("logprobs")
    content = _first(logprobs.get("content")) if isinstance(logprobs, dict) else None
    listed = (content or {}).get("top_logprobs")
    if not isinstance(listed, list) or not listed:
        return Failure("no-logprobs", "the server tells no log-probabilities of tokens")
    told = {item.get("token"): item.get("logprob") for item in listed if isinstance(item, dict)}
    found = [told.get(answer) for answer in choice.answers]
    if not any(_is_number(value) for value in found):
        return Failure("garbage", "none of the answers is among the first tokens that the model thinks likely")
    values = tuple(float(value) if _is_number(value) else -math.inf for value in found)
    return Chances(values, math.fsum(map(math.exp, values)), (tokens_used(value) or (0, 0))[0])


def read_one_of(value: Mapping[str, Any], choice: Choice) -> Chances | Failure:
    """Read the one answer that a model gave: certain, and the others impossible."""
    sample = read_sample(value)
    if isinstance(sample, Failure):
        return sample
    chosen = matched(sample.text, choice.answers)
    if chosen is None:
        return Failure("garbage", f"the model answered with none of the answers: {shown(sample.text)}")
    chances = tuple(0.0 if answer == chosen else -math.inf for answer in choice.answers)
    return Chances(chances, None, sample.prompt_tokens)


def matched(text: str, answers: Sequence[str]) -> str | None:
    """Find the answer that a text gives: as JSON, as it is, or as the only one of the answers that occurs in it."""
    said = parse(text.encode(errors="replace"))
    plain = said["answer"] if said and isinstance(said.get("answer"), str) else text
    plain = plain.strip().strip("\"'`*.").strip()
    for same in (str, str.casefold):
        exact = [answer for answer in answers if same(answer) == same(plain)]
        if len(exact) == 1:
            return exact[0]
    inside = [answer for answer in answers if _occurs(answer.casefold(), plain.casefold())]
    longest = [answer for answer in inside if not any(answer != other and answer in other for other in inside)]
    return longest[0] if len(longest) == 1 else None


def _occurs(answer: str, text: str) -> bool:
    """Tell whether an answer occurs as words of its own: ``1`` does not occur in ``10``."""
    start = text.find(answer)
    while start >= 0:
        around = text[start - 1 : start] + text[start + len(answer) : start + len(answer) + 1]
        if not any(sign.isalnum() for sign in around):
            return True
        start = text.find(answer, start + 1)
    return False
