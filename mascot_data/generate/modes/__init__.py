"""The systems that speak in rollouts, one file a family: each takes its turns after a turn of the person.

A mode reads the stage, yields what it asks, and adds one or more agent turns. Its prompts are the templates beside it.
"""

from collections.abc import Callable, Mapping

from mascot_data.generate.modes.few_shot import few_shot, few_shot_cot
from mascot_data.generate.modes.mascot import mascot, mascot_c, mascot_p
from mascot_data.generate.modes.single import self_consistency, zero_shot, zero_shot_cot
from mascot_data.generate.modes.support import multi_agent_esc
from mascot_data.generate.stage import Stage
from mascot_data.generate.talk import Talk

Mode = Callable[[Stage], Talk[None]]

MODES: Mapping[str, Mode] = {
    "mascot": mascot,
    "mascot-p": mascot_p,
    "mascot-c": mascot_c,
    "zero-shot": zero_shot,
    "zero-shot-cot": zero_shot_cot,
    "few-shot": few_shot,
    "few-shot-cot": few_shot_cot,
    "self-consistency": self_consistency,
    "multi-agent-esc": multi_agent_esc,
}
"""Name on the command line and in rows to mode."""

PROMPTS: Mapping[str, str] = {"1": "ec059a8da808f22f"}
"""Versions of the prompts, and the digest of each (see ``prompts.prompts_digest``).

A changed template, example or profile needs a new version here; old ones stay.
"""

PROMPTS_VERSION = list(PROMPTS)[-1]
"""The version that rows record."""
