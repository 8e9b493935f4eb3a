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
from mascot_data.generate.saying import choose_all, say_all, think
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
    notes = yield from _analyse(stage)
    cases = stage.scene.cases(_last_words(stage), CASES)
    strategies = yield from _strategies(stage, notes, cases)
    systems = [assistant(stage, notes=notes, strategy=strategy) for strategy in dict.fromkeys(strategies)]
    prompts = [stage.messages(system, ME) for system in systems]
    candidates = yield from say_all(stage, "speaker", prompts, stage.settings.speaker, ME)
    chosen, story = yield from _settle(stage, notes, [said.text for said in candidates])
    said = yield from answer(stage, assistant(stage, notes=notes, draft=candidates[chosen].text))
    found = ", ".join(case.dialogue_id for case in cases) or "none"
    told = [*notes, f"Cases: {found}", f"Strategies: {', '.join(strategies)}", *story]
    speak(stage, said, "\n".join(told))


def _gate(stage: Stage) -> Talk[str | None]:
    """Return why there is only a direct reply, or None."""
    if sum(heard.kind == "user" for heard in stage.heard) < FIRST_TURNS:
        return "the conversation has just begun"
    choice = Choice(question(stage, "gate"), ("Yes", "No"))
    (seen,) = yield from choose_all(stage, "speaker", [choice])
    return None if seen == "Yes" else "emotion, cause and intention are not visible yet"


def _analyse(stage: Stage) -> Talk[list[str]]:
    notes: list[str] = []
    for step in ANALYSES:
        (found,) = yield from think(stage, [question(stage, step, notes=notes)], NOTE_TOKENS)
        notes.append(f"{step}: {found or 'not clear'}")
    return notes


def _strategies(stage: Stage, notes: Sequence[str], cases: Sequence[Case]) -> Talk[list[str]]:
    labels = _labels(stage)
    prompts = [question(stage, "strategy", view=view, strategies=labels, notes=notes, cases=cases) for view in ANALYSES]
    choices = [Choice(prompt, labels) for prompt in prompts]
    return (yield from choose_all(stage, "speaker", choices))


def _labels(stage: Stage) -> tuple[str, ...]:
    acts = table("acts").get(stage.scene.source)
    if acts is None:
        return tuple(table("directives")["meeting"].values())
    return tuple(act for act in acts["actions"] if act not in acts["neutral"])


def _settle(stage: Stage, notes: Sequence[str], replies: Sequence[str]) -> Talk[tuple[int, list[str]]]:
    """Return which reply is taken, and how it came to that; a single one is not talked about."""
    story = [f"Reply {number}: {reply}" for number, reply in enumerate(replies, 1)]
    if len(replies) == 1:
        return 0, story
    known: dict[str, Sequence[str]] = {"notes": notes, "replies": replies}
    for step in ("debate", "reflection"):
        prompts = [question(stage, step, view=view, **known) for view in ANALYSES]
        known["opinions"] = yield from think(stage, prompts, NOTE_TOKENS)
        told = zip(ANALYSES, known["opinions"], strict=True)
        story += [f"{step.capitalize()}, {view.lower()}: {opinion}" for view, opinion in told]
    names = [f"Reply {number}" for number in range(1, len(replies) + 1)]
    votes = yield from _votes(stage, ANALYSES, names, known)
    story.append(f"Votes: {', '.join(votes)}")
    best = _most(votes)
    if len(best) > 1:
        best = yield from _votes(stage, [None], best, known)
        story.append(f"Judge: {best[0]}")
    return names.index(best[0]), story


def _votes(
    stage: Stage, views: Sequence[str | None], names: Sequence[str], known: Mapping[str, Sequence[str]]
) -> Talk[list[str]]:
    choices = [Choice(question(stage, "vote", view=view, **known), tuple(names)) for view in views]
    return (yield from choose_all(stage, "speaker", choices))


def _most(votes: Sequence[str]) -> list[str]:
    counts = Counter(votes)
    return [name for name, count in counts.items() if count == max(counts.values())]


def _last_words(stage: Stage) -> str:
    return next((heard.text for heard in reversed(stage.heard) if heard.kind == "user"), "")
