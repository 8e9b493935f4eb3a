"""The measures of agents in a report: how near they are to collapse, and the forms of sycophancy."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mascot_data.report import voices
from mascot_data.report.figures import Figure, Head, Section
from mascot_data.stats import about_measures

NONE = "–"

System = Mapping[str, Any]
"""A ``stats.Measured`` as plain data."""


class Table(NamedTuple):
    """A table of measures: a row a measure, a column a system, headed by how many ``of`` something it has."""

    id: str
    title: str
    note: str
    of: str
    names: tuple[str, ...]


COLLAPSE = (
    Table(
        "collapse-words",
        "Words of the agents",
        "Do they say the same words again and again, over all dialogues?",
        "agent_turns",
        ("distinct_1", "distinct_2", "self_bleu", "distinct_1_all", "distinct_2_all"),
    ),
    Table(
        "collapse-meaning",
        "Agents alike in meaning",
        "Do agents of one block say the same? By sentence embeddings (all-MiniLM-L6-v2) of blocks drawn at random.",
        "embedded_blocks",
        ("redundancy", "redundancy_most", "redundancy_earlier", "redundancy_chance"),
    ),
    Table(
        "collapse-personas",
        "Personas by their words",
        "Can a simple classifier tell who speaks? It learns from the dataset's own labels: where a rule gave them, it "
        "learns the rule.",
        "separability",
        ("separability", "separability_unigrams", "separability_majority", "separability_chance"),
    ),
    Table(
        "collapse-turns",
        "Who speaks",
        "Do some agents fall silent, or all speak in a fixed order?",
        "blocks",
        ("speaker_entropy", "roster_share", "longest_run", "next_speaker_entropy"),
    ),
)
SYCOPHANCY = (
    Table(
        "sycophancy-agreement",
        "Agreement and other angles",
        "Shares of agent turns, by closed lists of words.",
        "agent_turns",
        ("agrees_with_person", "agrees_with_agent", "merely_agrees", "other_angle"),
    ),
    Table(
        "sycophancy-echo",
        "Said again",
        "In the same words, or by sentence embeddings (of the same blocks as above) in others.",
        "agent_turns",
        ("echo_of_before", "echo_of_agents", "similar_to_agent"),
    ),
)


def collapse(systems: Sequence[System]) -> Section:
    """Return the section on whether agents fall into one voice."""
    text = (
        "Do many agents become one? A value says little alone: compare a system with people (the corpus), with another "
        "system, and with chance. An interval spans 95 in 100 resamples of the dialogues."
    )
    figures = [_figure(table, systems) for table in COLLAPSE]
    if any(system["f1_by_persona"] for system in systems):
        figures.insert(3, _by_persona(systems))
    return _section("collapse", "Collapse", text, figures, systems)


def sycophancy(systems: Sequence[System]) -> Section:
    """Return the section on agreeing and saying again."""
    text = (
        "How often agents agree, and say again what was said. These measures count forms and cannot see what is meant: "
        "agreeing can be right, and saying back what somebody feels is the work of some personas. They can show that "
        "one system does so much more often than another, or than people do; not that it flatters."
    )
    return _section("sycophancy", "Sycophancy", text, [_figure(table, systems) for table in SYCOPHANCY], systems)


def _section(name: str, title: str, text: str, figures: list[Figure], systems: Sequence[System]) -> Section:
    if not systems:
        return Section(name, title, "The dataset has no blocks to measure.", [])
    return Section(name, title, text, figures, "alone" if len(systems) > 2 else "")


def _figure(table: Table, systems: Sequence[System]) -> Figure:
    about = about_measures()
    drawn = [
        (about[name].title, about[name].says, [_cell(system["measures"][name]) for system in systems])
        for name in table.names
    ]
    why = dict.fromkeys(m["why"] for name in table.names for m in (s["measures"][name] for s in systems) if m["why"])
    behind = [
        [about[name].title, _name(system), *_cell(m)[:2], f"{m['n']:,} {about[name].of}", *about[name][1:3]]
        for name in table.names
        for system in systems
        for m in [system["measures"][name]]
    ]
    columns = [(_name(system), _size(system, table.of)) for system in systems]
    drawing = {"corner": "measure", "columns": columns, "rows": drawn, "reasons": [f"{NONE} {text}" for text in why]}
    names = ["measure", "system", "value", "95%", "over", "meaning", "range"]
    return Figure("values", Head(table.id, table.title, table.note), table.title, drawing, names, behind)


def _by_persona(systems: Sequence[System]) -> Figure:
    """Draw how well the classifier finds each persona."""
    found = voices.in_order({persona for system in systems for persona in system["f1_by_persona"]})
    drawn = []
    for persona in found:
        values = [system["f1_by_persona"].get(persona) for system in systems]
        drawn.append((voices.name(persona), "", [(NONE if v is None else f"{v:.3f}", "", "") for v in values]))
    columns = [(_name(system), _size(system, "separability")) for system in systems]
    head = Head("collapse-persona", "Each persona by its words", "F1 of the logistic regression, 0 to 1.")
    drawing = {"corner": "persona", "columns": columns, "rows": drawn, "reasons": []}
    rows = [[name, *(cell[0] for cell in cells)] for name, _, cells in drawn]
    return Figure("values", head, head.title, drawing, ["persona", *(name for name, _ in columns)], rows)


def _cell(found: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return a value, its interval, and why there is none, as they are shown."""
    if found["value"] is None:
        return NONE, "", found["why"]
    interval = "" if found["low"] is None else f"{found['low']:.3f}–{found['high']:.3f}"
    return f"{found['value']:.3f}", interval, ""


def _size(system: System, of: str) -> str:
    """Say how much of a system was measured: a count of it, or how many turns a measure was taken over."""
    return f"{system[of]:,} {of.split('_')[-1]}" if of in system else f"{system['measures'][of]['n']:,} turns"


def _name(system: System) -> str:
    one = system["system"]
    return str(one["mode"] or one["origin"])
