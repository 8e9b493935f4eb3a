"""A conversation while it is generated: who has said what, and the prompts of Speakers, Director and the person."""

from dataclasses import dataclass, field
from typing import NamedTuple

from mascot_data.build.directives import actions, tones
from mascot_data.build.projection import SILENCE, add_line, speaker_messages, to_line
from mascot_data.build.tables import table
from mascot_data.build.views import DIRECTOR, Budget, context_starts
from mascot_data.generate.cases import Cases, no_cases
from mascot_data.generate.seeds import seed_of
from mascot_data.generate.trim import Finish
from mascot_data.models.chat import Message, Sampling
from mascot_data.personas import Card, Personas
from mascot_data.records.dialogue import Kind, Source


class Directive(NamedTuple):
    """What the Director asks for; see ``records.Directive``."""

    agent: str
    action: str
    tone: str


class Heard(NamedTuple):
    """A turn of the room. ``speaker`` is its id in the dialogue, ``name`` what the room calls it."""

    speaker: str
    name: str
    kind: Kind
    persona: str | None
    text: str
    directive: Directive | None = None


class Step(NamedTuple):
    """How a generated turn came to be; ``reasoning`` is what was thought and not said.

    Tokens and log-probability are those of what was said.
    """

    finish_reason: Finish
    tokens: int
    logprob: float | None
    reasoning: str | None


@dataclass(frozen=True, slots=True)
class Settings:
    """What shapes a rollout.

    Attributes:
        turns: Turns to generate at least (a round of agents is always finished).
        agents_per_turn: Agent turns after each turn of the person, in systems of several agents.
        speaker: Sampling of what agents say.
        user: Sampling of what the simulated person says.
        director_temperature: Of the draw among given answers, such as the Director's; 0 takes the likeliest.
        budget: Context that a prompt shows.
    """

    turns: int = 8
    agents_per_turn: int = 2
    speaker: Sampling = field(default_factory=lambda: Sampling(temperature=0.8, top_p=0.95, max_tokens=96))
    user: Sampling = field(default_factory=lambda: Sampling(temperature=0.8, top_p=0.95, max_tokens=64))
    director_temperature: float = 1.0
    budget: Budget = field(default_factory=Budget)


class Scene(NamedTuple):
    """Where a rollout starts: a dialogue's opening, who is there, and the person to simulate.

    ``person`` is the system message of the simulated person, ``user`` its speaker id and name. ``outline`` is a
    meeting's, told to every agent. ``cases`` must never find the dialogue itself.
    """

    dialogue_id: str
    source: Source
    domain: str
    opening: tuple[Heard, ...]
    user: tuple[str, str]
    person: str
    outline: str | None
    cards: Personas
    seed: int
    cases: Cases = no_cases


class Stage:
    """A conversation under way. Modes read it, ask through it, and add turns to it."""

    def __init__(self, scene: Scene, settings: Settings) -> None:
        self.scene, self.settings = scene, settings
        self.roster = [scene.cards.cards[persona] for persona in scene.cards.roster_for(scene.domain).personas]
        self.heard: list[Heard] = list(scene.opening)
        self.steps: list[Step] = []
        self._drawn = 0

    @property
    def names(self) -> list[str]:
        """Names of everybody who may speak or has spoken."""
        return list(dict.fromkeys([self.scene.user[1], *(c.name for c in self.roster), *(h.name for h in self.heard)]))

    @property
    def is_over(self) -> bool:
        """Whether all turns have been said."""
        return len(self.steps) >= self.settings.turns

    def seed(self) -> int:
        """Return a new seed, the same in every repetition of the rollout."""
        self._drawn += 1
        return seed_of(self.scene.seed, self._drawn)

    def seen(self) -> list[Heard]:
        """Return the turns that a prompt shows: as many of the last ones as the budget holds."""
        lines = [to_line(heard.name, heard.text) for heard in self.heard]
        starts = context_starts([*lines, ""], self.settings.budget)
        return self.heard[starts[-1] :] if starts else list(self.heard)

    def room(self) -> str:
        """Return what has been said as lines, as the Director hears it."""
        return "\n".join(to_line(heard.name, heard.text) for heard in self.seen()) or SILENCE

    def messages(self, system: str, me: str, directive: Directive | None = None) -> tuple[Message, ...]:
        """Return the prompt of the speaker called ``me``: its system message and the room from its point of view."""
        seen = self.seen()
        names, texts = [heard.name for heard in seen], [heard.text for heard in seen]
        lines = [to_line(name, text) for name, text in zip(names, texts, strict=True)]
        system = system if me == self.scene.user[1] else self.with_outline(system)
        prompt = [("system", system), *speaker_messages(names, lines, texts, me)]
        if directive:
            asked = f"{DIRECTOR}: {directive.action}; {directive.tone}"
            prompt[-1] = ("user", add_line(prompt[-1][1], asked))
        return tuple(prompt)

    def with_outline(self, system: str) -> str:
        """Return an agent's system message with the meeting's outline, where there is one."""
        return f"{system}\n\n{self.scene.outline}" if self.scene.outline else system

    def legal_agents(self) -> list[Card]:
        """Return who may speak next: the roster without the agent that has just spoken."""
        last = self.heard[-1].persona if self.heard else None
        return [card for card in self.roster if card.id != last] or self.roster

    def legal_actions(self, card: Card) -> tuple[str, ...]:
        """Return what an agent may be asked to do: the actions of its acts, or all for a card without any."""
        source = self.scene.source
        if source == "qmsum":
            meeting = table("directives")["meeting"]
            return (meeting[card.id],) if card.id in meeting else actions(source)
        verbs = {table("acts")[source]["actions"][act] for act in card.acts.get(source, ())}
        mine = tuple(action for action in actions(source) if any(action.startswith(f"{verb} ") for verb in verbs))
        return mine or actions(source)

    def legal_tones(self, card: Card) -> tuple[str, ...]:
        """Return how an agent may be asked to sound: its own tones, or the default one for a card without any."""
        every, own = tones([card.id]), table("directives")["tones"].get(card.id, {}).values()
        return tuple(tone for tone in every if tone in own) or every

    def add(self, heard: Heard, step: Step) -> None:
        """Add a generated turn."""
        self.heard.append(heard)
        self.steps.append(step)
