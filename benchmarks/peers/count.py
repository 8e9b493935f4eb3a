"""Count the dialogues and raw utterances in a build of ours, so that a faster build that does less is seen."""

import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
from plain import summary


def main() -> None:
    """Count the ``dialogues`` of every dataset directory below the folder that the command line names."""
    output = Path(sys.argv[1])
    found = [path for path in sorted(output.rglob("*.parquet")) if path.parent.name in (output.name, "dialogues")]
    counts = [_count(path) for path in found]
    summary("pyarrow", sum(rows for rows, _ in counts), sum(said for _, said in counts))


def _count(path: Path) -> tuple[int, int]:
    turns = pq.read_table(path, columns=["turns"]).column("turns").combine_chunks().flatten()
    rows = pq.read_metadata(path).num_rows
    if turns.type.get_field_index("source_turns") < 0:
        return rows, len(turns)
    lengths = pc.list_value_length(turns.field("source_turns"))
    return rows, pc.sum(pc.max_element_wise(lengths, 1)).as_py() or 0  # a query or answer has no source turn: one


if __name__ == "__main__":
    main()
