"""The floor: plain reading and one pyarrow table a corpus, written as zstd Parquet."""

import pyarrow as pa
import pyarrow.parquet as pq
from columns import SCHEMA
from plain import arguments, rows, summary


def main() -> None:
    """Convert the corpora that the command line names."""
    corpora, sources, output = arguments()
    dialogues = utterances = 0
    for corpus in corpora:
        found = list(rows(corpus, sources))
        pq.write_table(pa.Table.from_pylist(found, schema=SCHEMA), output / f"{corpus}.parquet", compression="zstd")
        dialogues += len(found)
        utterances += sum(len(row["turns"]) for row in found)
    summary("pyarrow", dialogues, utterances)


if __name__ == "__main__":
    main()
