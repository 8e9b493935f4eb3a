"""What a report says, section by section: which figures, under which titles, with which notes."""

from collections.abc import Mapping
from typing import Any

from mascot_data.records import FLAGS
from mascot_data.report import voices
from mascot_data.report.counting import END
from mascot_data.report.data import Data
from mascot_data.report.figures import (
    SPLIT_CLASSES,
    Figure,
    Head,
    Section,
    bars,
    boxes,
    heat_map,
    histogram,
    named,
    percent,
    shares,
)
from mascot_data.report.measures import collapse, sycophancy

DRAWN = 12
_BOXES = "The box spans the middle half, the line in it is the median, the whiskers span 90 in 100."


def sections(data: Data, account: Mapping[str, Any], unit: str) -> list[Section]:
    """Return the sections between the head of a report and its examples; ``unit`` is what the corpus is made of."""
    before = [_account(account, unit), _counts(data), _lengths(data), _turn_taking(data), _director(data)]
    return [*before, collapse(data.systems), sycophancy(data.systems), _flags(data)]


def _account(account: Mapping[str, Any], unit: str) -> Section:
    read = account["utterances"] + account["failed_utterances"]
    table = {"read": read, "kept in turns": account["kept"], "of these merged into the turn before": account["merged"]}
    table |= {"of these in a second dialogue too": account["shared"]} if account["shared"] else {}
    table |= {f"dropped: {reason}": number for reason, number in account["dropped"].items()}
    counts = {row: {"number": number} for row, number in table.items()}
    figure = bars(Head("account", "Utterances"), counts, {"number": ("number", "s0")}, of="utterances", whole=read)
    return Section("account", "Account", _account_text(account, unit), [figure], "alone")


def _account_text(account: Mapping[str, Any], unit: str) -> str:
    failed, queries = account["failed_conversations"], account["queries"]
    text = f"{account['conversations'] + failed:,} {unit} were read"
    text += f" ({failed:,} of them failed ones)" if failed else ""
    text += f", with {queries:,} queries" if queries else ""
    text += ". Every utterance that was read is kept in a turn or dropped for a stated reason."
    return text if account["dropped"] else f"{text} None was dropped."


def _counts(data: Data) -> Section:
    split = _by_split(data)
    personas = {voice: counts for voice, counts in data.voices.items() if voice not in voices.PEOPLE}
    people = {voice: counts for voice, counts in data.voices.items() if voice in voices.PEOPLE}
    figures = [
        bars(Head("subsets", "Dialogues by subset"), data.subsets, split, of="subset"),
        bars(Head("personas", "Agent turns by persona"), named(personas), split, of="persona"),
    ]
    if len(people) > 1:
        figures.append(bars(Head("people", "Turns by people"), named(people), split, of="who"))
    if data.acts:
        figures.append(_acts(data))
    if data.emotions:
        figures.append(bars(Head("emotions", "Dialogues by emotion"), data.emotions, split, of="emotion", most=DRAWN))
    if data.problems:
        figures.append(bars(Head("problems", "Dialogues by problem"), data.problems, split, of="problem", most=DRAWN))
    text = "" if data.acts else "The corpus has no act labels."
    return Section("counts", "Counts", text, figures)


def _acts(data: Data) -> Figure:
    colours = voices.css_classes(data.voices)
    speak = {voice for counts in data.acts.values() for voice in counts}
    columns = {voice: (voices.name(voice), colours[voice]) for voice in data.voices if voice in speak}
    note = f"{_origins(data)} The colour is the persona that speaks."
    return bars(Head("acts", "Act labels by persona", note), data.acts, columns, of="act")


def _by_split(data: Data) -> dict[str, tuple[str, str]]:
    return {split: (split, SPLIT_CLASSES[split]) for split in data.splits}


def _origins(data: Data) -> str:
    giver = {"human": "people", "model": "a model", "rule": "the rule-based labeller"}
    whole = sum(data.act_origins.values())
    given = [f"by {giver.get(o, o)} in {n:,} turns ({percent(n, whole)})" for o, n in data.act_origins.items()]
    return f"Labels were given {', '.join(given)}."


def _lengths(data: Data) -> Section:
    figures = [histogram(Head("turns", "Turns a dialogue"), data.turns_bins, "turns")]
    if len(data.turns_a_dialogue) > 1:
        plain = dict.fromkeys(data.turns_a_dialogue, "s0")
        head = Head("turns-by-subset", "Turns a dialogue, by subset", _BOXES)
        figures.append(boxes(head, data.turns_a_dialogue, plain, "subset"))
    colours = named(voices.css_classes(data.voices))
    figures.append(boxes(Head("words", "Words a turn", _BOXES), named(data.words_a_turn), colours, "who"))
    return Section("lengths", "Lengths", "Words are what white space separates.", figures)


def _turn_taking(data: Data) -> Section:
    note = "Percent of each row: of the turns of the voice on the left, how many are followed by the one above."
    if "participant" in data.voices:
        note += " The people of a meeting count as one group."
    figure = heat_map(Head("follows", "Who follows whom", note), data.follows, [*data.voices, END], "after")
    return Section("turn-taking", "Turn-taking", "", [figure], "alone")


def _director(data: Data) -> Section:
    figures = []
    for name, table in data.labels.items():
        head = Head(name, f"Directives: {name}", f"{len(table)} labels.")
        figures.append(bars(head, table, _by_split(data), of=name, most=DRAWN))
        if data.baselines[name]:
            note = f"What always saying “{data.commonest[name]}”, the training split's commonest, gets right."
            head = Head(f"{name}-baseline", f"Majority-class baseline: {name}", note)
            figures.append(shares(head, data.baselines[name], "split"))
    text = "What a Director is to learn, and what it has to beat before it shows any skill."
    return Section("director", "Director's labels", text, figures, "pairs")


def _flags(data: Data) -> Section:
    if not data.flags:
        return Section("flags", "Flags", "No dialogue has a flag.", [])
    unknown = "A flag that this version does not know."
    notes = {flag: FLAGS.get(flag, unknown) + _in_turns(counts) for flag, counts in data.flags.items()}
    dialogues = sum(sum(counts.values()) for counts in data.subsets.values())
    columns = {"dialogues": ("dialogues", "s0")}
    figure = bars(Head("flags", "Flagged dialogues"), data.flags, columns, of="flag", whole=dialogues, notes=notes)
    behind = [[*row, f"{data.flags[row[0]].get('turns', 0):,}", notes[row[0]]] for row in figure.rows]
    figure = figure._replace(columns=[*figure.columns, "turns", "meaning"], rows=behind)
    text = "What is unusual is kept and flagged. A flag of a turn is also one of its dialogue."
    return Section("flags", "Flags", text, [figure], "alone")


def _in_turns(counts: dict[str, int]) -> str:
    return f" In {counts['turns']:,} {'turn' if counts['turns'] == 1 else 'turns'}." if "turns" in counts else ""
