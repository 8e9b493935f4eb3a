"""Scenes made by hand, and an answerer that takes the place of models."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mascot_data.generate.cases import Cases, no_cases
from mascot_data.generate.modes import MODES
from mascot_data.generate.stage import Heard, Scene, Settings, Stage
from mascot_data.generate.talk import Answerer, Found, Part, Talk, hold_all
from mascot_data.generate.users import load_profiles, person, user_message
from mascot_data.models.chat import Ask, Chances, Choice, Failure, Sample, Sampling
from mascot_data.personas import Personas, load_personas
from mascot_data.records.dialogue import Source
from mascot_data.records.rows import ScenarioRow

OPENINGS: dict[Source, tuple[Heard, ...]] = {
    "esconv": (Heard("user", "User", "user", None, "Hi, my boss wants me to move for the job."),),
    "empathetic-dialogues": (Heard("user", "User", "user", None, "We got a puppy last week!"),),
    "qmsum": (
        Heard("Marketing", "Marketing", "participant", None, "People lose it on the train."),
        Heard("Project Manager", "Project Manager", "participant", None, "Then we add a clip."),
        Heard("user", "User", "user", None, "Why did they add a clip?"),
    ),
}
SCENARIOS: dict[Source, ScenarioRow] = {
    "esconv": ScenarioRow("I have to move or lose my job.", "anxiety", "negative", "job crisis"),
    "empathetic-dialogues": ScenarioRow("I have a new puppy.", "joyful", "positive"),
    "qmsum": ScenarioRow("A meeting about an umbrella.", topic="Loss", query="Why did they add a clip?"),
}
SETTINGS = Settings(turns=7, speaker=Sampling(0.8, 0.95, 32), user=Sampling(0.9, 0.9, 16))


def make_scene(
    source: Source = "esconv",
    *,
    opening: tuple[Heard, ...] | None = None,
    cards: Personas | None = None,
    scenario: ScenarioRow | None = None,
    seed: int = 1,
    cases: Cases = no_cases,
) -> Scene:
    """Make a scene with what the test does not say."""
    domain = "workplace" if source == "qmsum" else "psychological-support"
    told = scenario or SCENARIOS[source]
    return Scene(
        f"{source}:1",
        source,
        domain,
        OPENINGS[source] if opening is None else opening,
        ("user", "User"),
        user_message(load_profiles()["infp"], domain, told),
        told.situation if source == "qmsum" else None,
        cards or load_personas(),
        seed,
        cases,
    )


def by_hash(question: Ask | Choice, seed: object) -> float:
    """Return a number, 0 to 1, that follows from a question."""
    digest = hashlib.blake2b(repr((question, seed)).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") / 2**32


def some_words(ask: Ask, seed: int) -> str:
    """Say something that no other question gets."""
    return f"I say {by_hash(ask, seed):.6f}."


def any_chance(choice: Choice) -> Sequence[float]:
    """Give each answer some chance."""
    return [-10 * by_hash(choice, answer) for answer in choice.answers]


@dataclass
class Fake:
    """Answers from functions, and remembers by part what was asked together."""

    say: Callable[[Ask, int], str] = some_words
    chances: Callable[[Choice], Sequence[float]] = any_chance
    fails: Callable[[int], bool] = lambda number: False
    rounds: list[tuple[Part, list[Ask | Choice]]] = field(default_factory=list)

    def answerers(self) -> dict[Part, Answerer]:
        """Return an answerer for each part."""
        parts: tuple[Part, ...] = ("speaker", "director", "user")
        return {part: self._answerer(part) for part in parts}

    def asked(self, part: Part) -> list[Ask | Choice]:
        """Return what a part was asked, in order."""
        return [question for asked, questions in self.rounds if asked == part for question in questions]

    def asks(self, part: Part) -> list[Ask]:
        """Return what a part was asked to say, in order."""
        return [question for question in self.asked(part) if isinstance(question, Ask)]

    def choices(self, part: Part) -> list[Choice]:
        """Return what a part was asked to choose, in order."""
        return [question for question in self.asked(part) if isinstance(question, Choice)]

    def _answerer(self, part: Part) -> Answerer:
        def answer(questions: Sequence[Ask | Choice]) -> list[Found]:
            first = sum(len(asked) for _, asked in self.rounds)
            self.rounds.append((part, list(questions)))
            return [self._found(question, first + index) for index, question in enumerate(questions)]

        return answer

    def _found(self, question: Ask | Choice, number: int) -> Found:
        if self.fails(number):
            return Failure("timeout", "it took too long")
        if isinstance(question, Choice):
            return Chances(tuple(self.chances(question)), None, 1)
        return [Sample(self.say(question, seed), "stop", -1.0, 3, 1) for seed in question.seeds]


def rollout(mode: str, stage: Stage) -> Talk[Stage]:
    """Let the mode and the person take turns until the stage is over."""
    yield from MODES[mode](stage)
    while not stage.is_over:
        yield from person(stage)
        yield from MODES[mode](stage)
    return stage


def hold(talk: Talk[Stage], fake: Fake) -> Stage:
    """Hold one conversation that is to succeed."""
    ((_, result),) = hold_all({"one": talk}, fake.answerers())
    assert isinstance(result, Stage), result
    return result


def play(mode: str, scene: Scene, fake: Fake | None = None, settings: Settings = SETTINGS) -> Stage:
    """Play a whole rollout."""
    return hold(rollout(mode, Stage(scene, settings)), fake or Fake())


def respond(mode: str, scene: Scene, fake: Fake, settings: Settings = SETTINGS) -> Stage:
    """Play one turn of the mode."""

    def once(stage: Stage) -> Talk[Stage]:
        yield from MODES[mode](stage)
        return stage

    return hold(once(Stage(scene, settings)), fake)


def prompt_of(question: Ask | Choice) -> str:
    """Return a whole prompt as text."""
    return "\n".join(content for _, content in question.messages)
