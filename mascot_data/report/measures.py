"""The measures of agents in a report: how near they are to collapse, and the forms of sycophancy."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mascot_data.report import voices
from mascot_data.report.figures import Figure, Head, Section
from mascot_data.stats import about_measures

NONE = "–"
NO_BLOCKS = "The dataset has no blocks to measure."
MOST_COLUMNS = 2
"""Systems that stand side by side."""

System = Mapping[str, Any]
"""A ``stats.Measured`` as plain data."""


class Cell(NamedTuple):
    """A cell or a head of a table: its text, small print below, and what is shown when one points at it."""

    text: str
    small: str = ""
    title: str = ""


class Table(NamedTuple):
    """A table of measures: its systems are named with how much ``of`` something they have."""

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
    if not systems:
        return Section("collapse", "Collapse", NO_BLOCKS, [])
    text = (
        "Do many agents become one? A value says little alone: compare a system with people (the corpus), with another "
        "system, and with chance. An interval spans 95 in 100 resamples of the dialogues."
    )
    figures = [_figure(table, systems) for table in COLLAPSE]
    if any(system["f1_by_persona"] for system in systems):
        figures.insert(3, _by_persona(systems))
    return Section("collapse", "Collapse", text, figures, _layout(systems))


def sycophancy(systems: Sequence[System]) -> Section:
    """Return the section on agreeing and saying again."""
    if not systems:
        return Section("sycophancy", "Sycophancy", NO_BLOCKS, [])
    text = (
        "How often agents agree, and say again what was said. These measures count forms and cannot see what is meant: "
        "agreeing can be right, and saying back what somebody feels is the work of some personas. They can show that "
        "one system does so much more often than another, or than people do; not that it flatters."
    )
    figures = [_figure(table, systems) for table in SYCOPHANCY]
    return Section("sycophancy", "Sycophancy", text, figures, _layout(systems))


def _layout(systems: Sequence[System]) -> str:
    return "alone" if len(systems) > MOST_COLUMNS else ""


def _figure(table: Table, systems: Sequence[System]) -> Figure:
    about = about_measures()
    found = [[system["measures"][name] for system in systems] for name in table.names]
    why = dict.fromkeys(one["why"] for row in found for one in row if one["why"])
    measures = [Cell(about[name].title, title=about[name].says) for name in table.names]
    drawing = _grid("measure", measures, _labels(systems, table.of), [[_cell(one) for one in row] for row in found])
    drawing["reasons"] = [f"{NONE} {text}" for text in why]
    behind = [
        [about[name].title, about[name].says, about[name].range, f"{about[name].of}: {_numbers(systems, row)}"]
        for name, row in zip(table.names, found, strict=True)
    ]
    names = ["measure", "meaning", "range", "over"]
    return Figure("values", Head(table.id, table.title, table.note), table.title, drawing, names, behind)


def _numbers(systems: Sequence[System], found: Sequence[Mapping[str, Any]]) -> str:
    """Say over how much a measure was taken, system by system, or once where it is the same."""
    numbers = [f"{one['n']:,}" for one in found]
    if len(set(numbers)) == 1:
        return numbers[0]
    return ", ".join(f"{number} ({_name(one)})" for number, one in zip(numbers, systems, strict=True))


def _by_persona(systems: Sequence[System]) -> Figure:
    """Draw how well the classifier finds each persona."""
    found = voices.in_order({persona for system in systems for persona in system["f1_by_persona"]})
    values = [[system["f1_by_persona"].get(persona) for system in systems] for persona in found]
    cells = [[Cell(NONE if value is None else f"{value:.3f}") for value in row] for row in values]
    names = [voices.name(persona) for persona in found]
    head = Head("collapse-persona", "Each persona by its words", "F1 of the logistic regression, 0 to 1.")
    drawing = _grid("persona", [Cell(name) for name in names], _labels(systems, "separability"), cells)
    rows = [[name, *(cell.text for cell in row)] for name, row in zip(names, cells, strict=True)]
    return Figure("values", head, head.title, drawing, ["persona", *map(_name, systems)], rows)


def _grid(
    corner: str, rows: Sequence[Cell], systems: Sequence[Cell], cells: Sequence[Sequence[Cell]]
) -> dict[str, Any]:
    """Put the systems above, or, where there are many of them, at the side."""
    if len(systems) <= MOST_COLUMNS:
        return {"corner": corner, "columns": systems, "rows": list(zip(rows, cells, strict=True)), "reasons": []}
    turned = list(zip(systems, zip(*cells, strict=True), strict=True))
    return {"corner": "system", "columns": rows, "rows": turned, "reasons": []}


def _cell(found: Mapping[str, Any]) -> Cell:
    if found["value"] is None:
        return Cell(NONE, title=found["why"])
    interval = "" if found["low"] is None else f"{found['low']:.3f}–{found['high']:.3f}"
    return Cell(f"{found['value']:.3f}", interval)


def _labels(systems: Sequence[System], of: str) -> list[Cell]:
    """Name systems and say how much of each was measured: a count of it, or the turns of a measure."""
    whole = [one[of] if of in one else one["measures"][of]["n"] for one in systems]
    unit = of.split("_")[-1] if of in systems[0] else "turns"
    return [Cell(_name(one), f"{number:,} {unit}") for one, number in zip(systems, whole, strict=True)]


def _name(system: System) -> str:
    one = system["system"]
    return str(one["mode"] or one["origin"])
