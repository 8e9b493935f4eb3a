"""Count over the dialogues of a dataset directory, a batch of rows at a time, without making them Python objects."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mascot_data.errors import DatasetError
from mascot_data.records.dialogue import SPLITS

START = "start"
END = "end"
BATCH_ROWS = 250
TOPICS = ("emotion", "problem")
CARE = "self-harm-words"
"""Dialogues with this flag are counted like all others, but not shown as examples."""

_COLUMNS = {"id", "subset", "license", "scenario", "flags"}
_TURN_FIELDS = {"kind", "persona", "text", "acts", "acts_origin", "flags"}

Tally = Counter[tuple[Any, ...]]


@dataclass
class Counts:
    """What the figures are made of; each counter's keys are tuples of the names given here.

    A voice is a persona id, ``user`` or ``participant`` (all people of a meeting together). ``follows`` also has the
    pairs (``start``, first voice) and (last voice, ``end``). ``firsts`` has the id of the first dialogue of a subset
    that has so many turns, an agent among its speakers and no words of self-harm.
    """

    dialogues: Tally = field(default_factory=Counter)  # split, subset, turns
    topics: Tally = field(default_factory=Counter)  # split, emotion or problem, label
    licences: Tally = field(default_factory=Counter)  # licence
    turns: Tally = field(default_factory=Counter)  # split, voice, words
    acts: Tally = field(default_factory=Counter)  # voice, act
    origins: Tally = field(default_factory=Counter)  # acts_origin
    follows: Tally = field(default_factory=Counter)  # voice before, voice
    flagged_dialogues: Tally = field(default_factory=Counter)  # flag
    flagged_turns: Tally = field(default_factory=Counter)  # flag
    firsts: dict[tuple[str, int], str] = field(default_factory=dict)  # subset, turns


def count(root: Path) -> Counts:
    """Count the dialogues of a dataset directory.

    Raises:
        DatasetError: there are none, or a file cannot be read.
    """
    counts = Counts()
    for split in SPLITS:
        for path in sorted((root / "data" / "dialogues").glob(f"{split}-*-of-*.parquet")):
            try:
                for batch in _batches(path):
                    _count(split, batch, counts)
            except (pa.ArrowException, KeyError, OSError) as error:
                raise DatasetError(
                    f"{path}: cannot be read as dialogues ({error}); see  mascot-data validate {root}"
                ) from error
    if not counts.dialogues:
        raise DatasetError(f"{root}: has no dialogues; make them with  mascot-data build")
    return counts


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path) as file:
        leaves = [file.schema.column(number).path for number in range(len(file.schema))]
        yield from file.iter_batches(BATCH_ROWS, columns=[leaf for leaf in leaves if _is_needed(leaf.split("."))])


def _is_needed(parts: list[str]) -> bool:
    """Tell whether a leaf is counted; fields of a turn stand below ``turns.list.element``."""
    return parts[0] in _COLUMNS or (parts[0] == "turns" and parts[3] in _TURN_FIELDS)


def _count(split: str, batch: pa.RecordBatch, counts: Counts) -> None:
    turns, flags = batch.column("turns"), batch.column("flags")
    sizes = pc.list_value_length(turns)
    _tally(counts.dialogues, batch.column("subset"), sizes, before=(split,))
    for topic in TOPICS:
        _tally(counts.topics, pc.struct_field(batch.column("scenario"), topic), before=(split, topic))
    _tally(counts.licences, batch.column("license"))
    _tally(counts.flagged_dialogues, flags.flatten())
    _note_firsts(counts.firsts, batch, sizes)
    if len(turns.flatten()):
        _count_turns(split, turns.flatten(), pc.list_parent_indices(turns), counts)


def _count_turns(split: str, turns: pa.StructArray, dialogue: pa.Array, counts: Counts) -> None:
    voices = pc.coalesce(pc.struct_field(turns, "persona"), pc.struct_field(turns, "kind"))
    _tally(counts.turns, voices, _words(pc.struct_field(turns, "text")), before=(split,))
    acts = pc.struct_field(turns, "acts")
    _tally(counts.acts, voices.take(pc.list_parent_indices(acts)), acts.flatten())
    _tally(counts.origins, pc.struct_field(turns, "acts_origin"))
    _tally(counts.flagged_turns, pc.struct_field(turns, "flags").flatten())
    border = pc.not_equal(dialogue[1:], dialogue[:-1])
    edge = pa.array([True])
    before = pc.if_else(pa.concat_arrays([edge, border]), START, pa.concat_arrays([pa.array([START]), voices[:-1]]))
    _tally(counts.follows, before, voices)
    _tally(counts.follows, voices.filter(pa.concat_arrays([border, edge])), after=(END,))


def _words(texts: pa.Array) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(trimmed, ""), 0, pc.list_value_length(pc.utf8_split_whitespace(trimmed)))


def _note_firsts(firsts: dict[tuple[str, int], str], batch: pa.RecordBatch, sizes: pa.Array) -> None:
    flagged = _rows_with(batch.column("flags"), lambda flags: pc.equal(flags, CARE))
    helped = _rows_with(batch.column("turns"), lambda turns: pc.is_valid(pc.struct_field(turns, "persona")))
    table = pa.table({"subset": batch.column("subset"), "size": sizes, "id": batch.column("id")})
    shown = table.filter(pc.and_not(helped, flagged)).group_by(["subset", "size"], use_threads=False)
    columns = shown.aggregate([("id", "first")]).select(["subset", "size", "id_first"]).columns
    for subset, size, name in zip(*(column.to_pylist() for column in columns), strict=True):
        firsts.setdefault((subset, size), name)


def _rows_with(lists: pa.ListArray, is_wanted: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Tell of each row whether its list has a wanted item."""
    parents = pc.list_parent_indices(lists)
    return pc.is_in(pa.array(range(len(lists)), parents.type), parents.filter(is_wanted(lists.flatten())))


def _tally(counter: Tally, *columns: pa.Array, before: tuple[str, ...] = (), after: tuple[str, ...] = ()) -> None:
    """Add how often each combination of the columns' values occurs; a null in any of them is not counted."""
    names = [str(number) for number in range(len(columns))]
    table = pa.table(dict(zip(names, columns, strict=True))).drop_null()
    grouped = table.group_by(names, use_threads=False).aggregate([([], "count_all")])
    keys = zip(*(grouped[name].to_pylist() for name in names), strict=True)
    for key, number in zip(keys, grouped["count_all"].to_pylist(), strict=True):
        counter[(*before, *key, *after)] += number
