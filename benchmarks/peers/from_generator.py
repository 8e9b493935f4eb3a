"""``datasets.Dataset.from_generator`` over the plain rows, then ``to_parquet``."""

import datasets
import pyarrow.compute as pc
from columns import SCHEMA
from plain import arguments, rows, summary


def main() -> None:
    """Convert the corpora that the command line names; the cache lies in the output folder, so none is ever reused."""
    corpora, sources, output = arguments()
    datasets.disable_progress_bars()
    features = datasets.Features.from_arrow_schema(SCHEMA)
    dialogues = utterances = 0
    for corpus in corpora:
        found = datasets.Dataset.from_generator(
            rows,
            features=features,
            cache_dir=str(output / "cache"),
            gen_kwargs={"corpus": corpus, "sources": sources},
        )
        found.to_parquet(output / f"{corpus}.parquet")
        dialogues += len(found)
        utterances += pc.sum(pc.list_value_length(found.data.column("turns"))).as_py()
    summary("datasets", dialogues, utterances)


if __name__ == "__main__":
    main()
