"""What a report says, section by section: which figures, under which titles, with which notes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mascot_data.records import FLAGS
from mascot_data.report import voices
from mascot_data.report.counting import END
from mascot_data.report.data import Data
from mascot_data.report.figures import SPLIT_CLASSES, Figure, bars, boxes, heat_map, histogram, named, percent, shares

DRAWN = 12
_COUNT = {"number": ("number", "s0")}
_BOXES = "The box spans the middle half, the line in it is the median, the whiskers span 90 in 100."


class Section(NamedTuple):
    """A section of the page; ``layout`` is a class of the style sheet: columns by default, ``pairs`` or ``alone``."""

    id: str
    title: str
    text: str
    figures: list[Figure]
    layout: str = ""


def sections(data: Data, account: Mapping[str, Any], unit: str) -> list[Section]:
    """Return the sections between the head of a report and its examples; ``unit`` is what the corpus is made of."""
    return [_account(account, unit), _counts(data), _lengths(data), _turn_taking(data), _director(data), _flags(data)]


def _account(account: Mapping[str, Any], unit: str) -> Section:
    read = account["utterances"] + account["failed_utterances"]
    table = {"read": read, "kept in turns": account["kept"], "of these merged into the turn before": account["merged"]}
    table |= {"of these in a second dialogue too": account["shared"]} if account["shared"] else {}
    table |= {f"dropped: {reason}": number for reason, number in account["dropped"].items()}
    text = f"{account['conversations'] + account['failed_conversations']:,} {unit} were read"
    text += f" ({account['failed_conversations']:,} of them failed ones)" if account["failed_conversations"] else ""
    text += f", with {account['queries']:,} queries. " if account["queries"] else ". "
    text += "Every utterance that was read is kept in a turn or dropped for a stated reason."
    text += "" if account["dropped"] else " None was dropped."
    figure = bars(
        ("account", "Utterances", ""),
        {row: {"number": number} for row, number in table.items()},
        _COUNT,
        of="utterances",
        whole=read,
    )
    return Section("account", "Account", text, [figure], "alone")


def _counts(data: Data) -> Section:
    split = _by_split(data)
    colours = voices.css_classes(data.voices)
    personas = {voice: counts for voice, counts in data.voices.items() if voice not in voices.PEOPLE}
    people = {voice: counts for voice, counts in data.voices.items() if voice in voices.PEOPLE}
    speakers = {voice: (voices.name(voice), colours[voice]) for voice in personas}
    figures = [bars(("subsets", "Dialogues by subset", ""), data.subsets, split, of="subset")]
    agents = sum(sum(counts.values()) for counts in personas.values())
    figures.append(bars(("personas", "Agent turns by persona", ""), named(personas), split, of="persona"))
    if len(people) > 1:
        figures.append(bars(("people", "Turns by people", ""), named(people), split, of="who"))
    if data.acts:
        used = {voice: column for voice, column in speakers.items() if any(voice in row for row in data.acts.values())}
        note = f"{_origins(data, agents)} The colour is the persona that speaks."
        figures.append(bars(("acts", "Act labels by persona", note), data.acts, used, of="act"))
    for identity, title, table in (
        ("emotions", "Dialogues by emotion", data.emotions),
        ("problems", "Dialogues by problem", data.problems),
    ):
        if table:
            figures.append(bars((identity, title, ""), table, split, of=identity[:-1], most=DRAWN))
    text = "" if data.acts else "The corpus has no act labels."
    return Section("counts", "Counts", text, figures)


def _by_split(data: Data) -> dict[str, tuple[str, str]]:
    return {split: (split, SPLIT_CLASSES[split]) for split in data.splits}


def _origins(data: Data, agents: int) -> str:
    giver = {"human": "people", "model": "a model", "rule": "the rule-based labeller"}
    given = [f"by {giver.get(o, o)} in {n:,} turns ({percent(n, agents)})" for o, n in data.act_origins.items()]
    return f"Labels were given {', '.join(given)}."


def _lengths(data: Data) -> Section:
    title = "Turns a dialogue"
    figures = [histogram(("turns", title, ""), data.turns_bins, "turns")]
    if len(data.turns_a_dialogue) > 1:
        plain = dict.fromkeys(data.turns_a_dialogue, "s0")
        figures.append(
            boxes(("turns-by-subset", f"{title}, by subset", _BOXES), data.turns_a_dialogue, plain, "subset")
        )
    colours = named(voices.css_classes(data.voices))
    figures.append(boxes(("words", "Words a turn", _BOXES), named(data.words_a_turn), colours, "who"))
    return Section("lengths", "Lengths", "Words are what white space separates.", figures)


def _turn_taking(data: Data) -> Section:
    note = "Percent of each row: of the turns of the voice on the left, how many are followed by the one above."
    if "participant" in data.voices:
        note += " The people of a meeting count as one group."
    figure = heat_map(("follows", "Who follows whom", note), data.follows, [*data.voices, END], "after")
    return Section("turn-taking", "Turn-taking", "", [figure], "alone")


def _director(data: Data) -> Section:
    figures = []
    for name, table in data.labels.items():
        note = f"{len(table)} labels."
        figures.append(bars((name, f"Directives: {name}", note), table, _by_split(data), of=name, most=DRAWN))
        if data.baselines.get(name):
            note = (
                f"Share that always saying “{data.commonest[name]}” gets right: it is the training split's commonest."
            )
            title = f"Majority-class baseline: {name}"
            figures.append(shares((f"{name}-baseline", title, note), data.baselines[name], "split"))
    text = "What a Director is to learn, and what it has to beat before it shows any skill."
    return Section("director", "Director's labels", text, figures, "pairs")


def _flags(data: Data) -> Section:
    if not data.flags:
        return Section("flags", "Flags", "No dialogue has a flag.", [])
    unknown = "A flag that this version does not know."
    notes = {flag: FLAGS.get(flag, unknown) + _in_turns(counts) for flag, counts in data.flags.items()}
    figure = bars(
        ("flags", "Flagged dialogues", ""),
        data.flags,
        {"dialogues": ("dialogues", "s0")},
        of="flag",
        whole=sum(sum(counts.values()) for counts in data.subsets.values()),
        notes=notes,
    )
    behind = [[*row, f"{data.flags[row[0]].get('turns', 0):,}", notes[row[0]]] for row in figure.rows]
    figure = figure._replace(head=[*figure.head, "turns", "meaning"], rows=behind)
    text = "What is unusual is kept and flagged. A flag of a turn is also one of its dialogue."
    return Section("flags", "Flags", text, [figure], "alone")


def _in_turns(counts: dict[str, int]) -> str:
    return f" In {counts['turns']:,} {'turn' if counts['turns'] == 1 else 'turns'}." if "turns" in counts else ""
