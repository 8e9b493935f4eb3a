"""What a model is shown when it judges: a trunk for the context, a branch for each reply, a leaf for each criterion.

The order is that of what changes least: rubric, persona and context, reply, criterion. All that is shared comes first,
so that a packed tree, a repeated cache or a server's prefix cache reads it once.
"""

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
_PROMPTS = Path(__file__).parent / "prompts"


class Tree(NamedTuple):
    """The text of a judge's user message in parts: ``trunk + branch + leaf`` is one prompt."""

    system: str
    trunk: str
    branches: tuple[str, ...]
    leaves: tuple[str, ...]

    def choice(self, branch: int, leaf: int) -> Choice:
        """Return the question for one reply and one criterion."""
        text = self.trunk + self.branches[branch] + self.leaves[leaf]
        messages: tuple[Message, ...] = (("system", self.system), ("user", text))
        return Choice(messages, LABELS, PREFIX)


def tree(context: Context, rubric: Rubric) -> Tree:
    """Return what a judge is shown of a context: a branch a reply, a leaf a criterion, in order."""
    room = "\n".join(to_line(one.name, one.text) for one in context.heard) or SILENCE
    about = {"card": context.card, "roster": context.roster, "directive": context.directive, "room": _closed(room)}
    return Tree(
        system=render(_PROMPTS, "rubric", criteria=rubric.criteria),
        trunk=f"{render(_PROMPTS, 'context', **about)}\n",
        branches=tuple(_closed(_spoken(reply)) for reply in context.replies),
        leaves=tuple(f"\n{leaf(criterion)}" for criterion in rubric.criteria),
    )


def leaf(criterion: Criterion) -> str:
    """Return what asks for one criterion."""
    return render(_PROMPTS, "criterion", criterion=criterion)


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
