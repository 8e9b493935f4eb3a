"""A pipeline of agents for emotional support, in the manner of MultiAgentESC (as far as its summary tells).

Where emotion, cause or intention are not visible yet, there is one short direct reply. Else three analysts work in a
chain; three strategists, each of whom looks above all at one of the analyses, choose a strategy with similar past
turns before them; each strategy gives a candidate reply; debate, reflection and vote choose one, a judge where votes
are tied; the last step writes it anew. The strategies are the act labels of the corpus; for meetings, which have none,
what the workplace personas do.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from mascot_data.build.tables import table
from mascot_data.generate.cases import Case
from mascot_data.generate.modes.prompts import assistant, question
from mascot_data.generate.modes.single import ME, answer, speak
from mascot_data.generate.saying import Said, choose_all, say_all, think
from mascot_data.generate.stage import Stage
from mascot_data.generate.talk import Talk
from mascot_data.models.chat import Choice

ANALYSES = ("Emotion", "Cause", "Intention")
CASES = 10
FIRST_TURNS = 2
"""So many turns of the person must have been heard before it is asked whether they show enough."""

NOTE_TOKENS = 48


def multi_agent_esc(stage: Stage) -> Talk[None]:
    """Answer as the pipeline does; what its agents wrote is kept as the reasoning of the turn."""
    unseen = yield from _gate(stage)
    if unseen:
        speak(stage, (yield from answer(stage, assistant(stage, short=True))), f"Direct reply: {unseen}")
        return
    analyses = yield from _analyse(stage)
    cases = stage.scene.cases(_last_words(stage), CASES)
    strategies = yield from _strategies(stage, analyses, cases)
    notes = [f"{name}: {text}" for name, text in analyses.items()]
    systems = [assistant(stage, notes=notes, strategy=strategy) for strategy in dict.fromkeys(strategies)]
    prompts = [stage.messages(system, ME) for system in systems]
    candidates = yield from say_all(stage, "speaker", prompts, stage.settings.speaker, ME)
    chosen, story = yield from _settle(stage, analyses, candidates)
    said = yield from answer(stage, assistant(stage, notes=notes, draft=candidates[chosen].text))
    asked = [
        f"Cases: {', '.join(case.dialogue_id for case in cases) or 'none'}",
        f"Strategies: {', '.join(strategies)}",
    ]
    speak(stage, said, "\n".join([*notes, *asked, *story]))


def _gate(stage: Stage) -> Talk[str | None]:
    """Return why there is only a direct reply, or None."""
    if sum(heard.kind == "user" for heard in stage.heard) < FIRST_TURNS:
        return "the conversation has just begun"
    choice = Choice(question(stage, "gate"), ("Yes", "No"))
    (seen,) = yield from choose_all(stage, "speaker", [choice], 0)
    return None if seen == "Yes" else "emotion, cause and intention are not visible yet"


def _analyse(stage: Stage) -> Talk[dict[str, str]]:
    analyses: dict[str, str] = {}
    for step in ANALYSES:
        (note,) = yield from think(stage, [question(stage, "analysis", step=step, analyses=analyses)], NOTE_TOKENS)
        analyses[step] = note or "not clear"
    return analyses


def _strategies(stage: Stage, analyses: Mapping[str, str], cases: Sequence[Case]) -> Talk[list[str]]:
    labels = _labels(stage)
    values = {"analyses": analyses, "cases": cases, "strategies": labels}
    choices = [Choice(question(stage, "strategy", view=view, **values), labels) for view in ANALYSES]
    return (yield from choose_all(stage, "speaker", choices, stage.settings.director_temperature))


def _labels(stage: Stage) -> tuple[str, ...]:
    acts = table("acts").get(stage.scene.source)
    if acts is None:
        return tuple(table("directives")["meeting"].values())
    return tuple(act for act in acts["actions"] if act not in acts["neutral"])


def _settle(stage: Stage, analyses: Mapping[str, str], candidates: Sequence[Said]) -> Talk[tuple[int, list[str]]]:
    """Return which candidate is taken, and how it came to that; a single one is not talked about."""
    replies = [said.text for said in candidates]
    story = [f"Reply {number}: {reply}" for number, reply in enumerate(replies, 1)]
    if len(replies) == 1:
        return 0, story
    values = {"analyses": analyses, "replies": replies}
    opinions: list[str] = []
    for step in ("debate", "reflection"):
        prompts = [question(stage, "debate", step=step, view=view, opinions=opinions, **values) for view in ANALYSES]
        opinions = yield from think(stage, prompts, NOTE_TOKENS)
        story += [f"{step.capitalize()}, {view.lower()}: {text}" for view, text in zip(ANALYSES, opinions, strict=True)]
    names = tuple(f"Reply {number}" for number in range(1, len(replies) + 1))
    votes = yield from _votes(stage, ANALYSES, names, opinions, values)
    story.append(f"Votes: {', '.join(votes)}")
    best = _most(votes)
    if len(best) > 1:
        best = yield from _votes(stage, [None], best, opinions, values)
        story.append(f"Judge: {best[0]}")
    return names.index(best[0]), story


def _votes(
    stage: Stage,
    views: Sequence[str | None],
    names: Sequence[str],
    opinions: Sequence[str],
    values: Mapping[str, object],
) -> Talk[list[str]]:
    prompts = [question(stage, "debate", step="vote", view=view, opinions=opinions, **values) for view in views]
    return (yield from choose_all(stage, "speaker", [Choice(prompt, tuple(names)) for prompt in prompts], 0))


def _most(votes: Sequence[str]) -> list[str]:
    counts = Counter(votes)
    return [name for name, count in counts.items() if count == max(counts.values())]


def _last_words(stage: Stage) -> str:
    return next((heard.text for heard in reversed(stage.heard) if heard.kind == "user"), "")
