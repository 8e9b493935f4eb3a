"""What a model is shown when it judges: a trunk for the context, a branch for each reply, a leaf for each criterion.

The order is that of what changes least: rubric, persona and context, reply, criterion. All that is shared comes first,
so that a packed tree, a repeated cache or a server's prefix cache reads it once.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mascot_data.build.projection import SILENCE, to_line
from mascot_data.generate.templates import render
from mascot_data.judge.rubric import Criterion, Rubric
from mascot_data.judge.subject import Context, Reply
from mascot_data.models.chat import Choice, Message
from mascot_data.models.store import key_of

PREFIX = "Score: "
LABELS = ("1", "2", "3", "4", "5")
BETTER = "Better: "
SIDES = ("A", "B")
_BETWEEN = "\n>>>\n\nB:\n<<<\n"
_PROMPTS = Path(__file__).parent / "prompts"


class Tree(NamedTuple):
    """The text of a judge's user message in parts: ``trunk + branch + leaf`` is one prompt."""

    system: str
    trunk: str
    branches: tuple[str, ...]
    leaves: tuple[str, ...]

    def messages(self, branch: int, leaf: int) -> tuple[Message, ...]:
        """Return what is shown of one reply under one leaf."""
        return self._shown(self.branches[branch] + self.leaves[leaf])

    def choice(self, branch: int, leaf: int) -> Choice:
        """Return the question for one reply and one criterion."""
        return Choice(self.messages(branch, leaf), LABELS, PREFIX)

    def comparison(self, first: int, second: int, leaf: int) -> Choice:
        """Return the question which of two replies is better under one criterion."""
        text = f"{self.branches[first]}{_BETWEEN}{self.branches[second]}{self.leaves[leaf]}"
        return Choice(self._shown(text), SIDES, BETTER)

    def _shown(self, text: str) -> tuple[Message, ...]:
        return (("system", self.system), ("user", self.trunk + text))


def tree(context: Context, rubric: Rubric) -> Tree:
    """Return what a judge is shown of a context: a branch a reply, a leaf a criterion, in order."""
    return _tree(context, rubric, "rating", [leaf(criterion) for criterion in rubric.criteria])


def comparison(context: Context, rubric: Rubric) -> Tree:
    """Return what a judge is shown of every two replies to a context, a leaf a criterion."""
    return _tree(context, rubric, "pairwise", [_leaf("better", criterion=one) for one in rubric.criteria])


def in_words(context: Context, rubric: Rubric) -> Tree:
    """Return what a judge is shown that writes its scores: a branch a reply, and a single leaf for all criteria."""
    return _tree(context, rubric, "text", [_leaf("scores", criteria=rubric.criteria)])


def _tree(context: Context, rubric: Rubric, method: str, leaves: Sequence[str]) -> Tree:
    room = "\n".join(to_line(one.name, one.text) for one in context.heard) or SILENCE
    heading = ("Reply A" if method == "pairwise" else "The reply") if context.card else "How it went on"
    about = {
        "card": context.card,
        "roster": context.roster,
        "directive": context.directive,
        "room": _closed(room),
        "heading": f"{heading}, A" if method == "pairwise" and not context.card else heading,
    }
    return Tree(
        system=render(_PROMPTS, "rubric", criteria=rubric.criteria, method=method),
        trunk=f"{render(_PROMPTS, 'context', **about)}\n",
        branches=tuple(_closed(_spoken(reply)) for reply in context.replies),
        leaves=tuple(f"\n{one}" for one in leaves),
    )


def leaf(criterion: Criterion) -> str:
    """Return what asks for one criterion."""
    return _leaf("criterion", criterion=criterion)


def _leaf(name: str, **values: object) -> str:
    return render(_PROMPTS, name, **values)


def prompt_hash(tree: Tree, branch: int) -> str:
    """Return the digest of what a judge is shown of one reply, 16 hex digits."""
    return key_of(*tree._replace(branches=(tree.branches[branch],)))[:16]


def _spoken(reply: Reply) -> str:
    if len(reply.turns) == 1:
        return reply.turns[0].text
    return "\n".join(to_line(turn.name, turn.text) for turn in reply.turns)


def _closed(text: str) -> str:
    """Keep judged text from ending the marks around it."""
    return text.replace("<<<", "< < <").replace(">>>", "> > >")
