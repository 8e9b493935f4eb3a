"""The dataset card: YAML that names configs, splits and features, and a text from the build's own facts.

``datasets`` keys its local cache by the YAML, not by the files. Each config's description therefore holds a digest of
its files: a rebuilt dataset is never read from a stale cache.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jinja2
import yaml

from mascot_data.build.corpora import Corpus
from mascot_data.build.writing import config_digest
from mascot_data.records import ADDED_CONFIGS, CONFIGS, FLAGS, arrow_schema, features_yaml
from mascot_data.records.dialogue import SPLITS
from mascot_data.resources import shared_folder

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


class CardFile(NamedTuple):
    """A Parquet file of the directory; ``rows`` and ``bytes`` are None where no provenance names it."""

    config: str
    split: str
    sha256: str
    rows: int | None = None
    bytes: int | None = None


def card(
    corpus: Corpus, facts: Mapping[str, Any], added: Sequence[Mapping[str, Any]] = (), strays: Iterable[CardFile] = ()
) -> str:
    """Render ``README.md`` of a dataset directory.

    Args:
        corpus: What it was built from.
        facts: The provenance of the build.
        added: The provenances of what later commands added.
        strays: Parquet files that no provenance names; they are declared, too.
    """
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    template = environment.from_string(shared_folder("hub_cards").joinpath("dataset.md.jinja").read_text("utf-8"))
    files = [file for stated in (facts, *added) for file in _stated(stated)]
    header = yaml.safe_dump(front_matter(corpus, [*files, *strays]), sort_keys=False, allow_unicode=True, width=1000)
    return template.render(
        header=header,
        corpus=corpus,
        facts=facts,
        account=facts["account"],
        added=added,
        flags=FLAGS,
        made_with=_made_with,
        rows_of=_rows_of,
    )


def _made_with(part: Mapping[str, Any]) -> str:
    """Say the options of a part in a cell of a table; what could break the cell or the page is spelled out."""
    options = ", ".join(f"{name}: {_plain(value)}" for name, value in part["options"].items() if value is not None)
    return "".join(f"&#{ord(sign)};" if sign in "|<>&`[]*_\\" else sign for sign in " ".join(options.split()))


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name} {_plain(inner)}" for name, inner in value.items())
    return " ".join(map(_plain, value)) if isinstance(value, list) else str(value)


def _rows_of(part: Mapping[str, Any]) -> int:
    return sum(stated["rows"] for stated in part["files"].values())


def front_matter(corpus: Corpus, files: Sequence[CardFile]) -> dict[str, Any]:
    """Return the YAML of a card as data."""
    configs = _by_config(files)
    rows = sum(file.rows or 0 for file in files)
    return {
        "pretty_name": f"{corpus.title}, multi-agent (MASCOT)",
        "language": ["en"],
        "license": corpus.license,
        "size_categories": [next((name for limit, name in _SIZES if rows < limit), "1M<n<10M")],
        "task_categories": ["text-generation"],
        "tags": ["dialogue", "multi-agent", "persona", "mascot", corpus.source],
        "configs": [_config(corpus, config, of) for config, of in configs.items()],
        "dataset_info": [
            _info(config, of)
            for config, of in configs.items()
            if config in CONFIGS | ADDED_CONFIGS and all(file.rows is not None for file in of)
        ],
    }


def _stated(facts: Mapping[str, Any]) -> list[CardFile]:
    return [
        CardFile(*config_and_split(path), stated["sha256"], stated["rows"], stated["bytes"])
        for path, stated in facts["files"].items()
        if path.endswith(".parquet")
    ]


def config_and_split(path: str) -> tuple[str, str]:
    """Return the config and the split of a file, by its name in the directory (``data/<config>/<split>-…``)."""
    _, config, name = path.split("/")
    return config, name.partition("-")[0]


def _by_config(files: Sequence[CardFile]) -> dict[str, list[CardFile]]:
    found: dict[str, list[CardFile]] = {}
    for file in files:
        found.setdefault(file.config, []).append(file)
    return found


def _config(corpus: Corpus, config: str, files: Sequence[CardFile]) -> dict[str, Any]:
    present = {file.split for file in files}
    return {
        "config_name": config,
        "description": f"{config} of {corpus.title}; content {config_digest(file.sha256 for file in files)}",
        **({"default": True} if config == "dialogues" else {}),
        "data_files": [
            {"split": split, "path": f"data/{config}/{split}-*.parquet"} for split in SPLITS if split in present
        ],
    }


def _info(config: str, files: Sequence[CardFile]) -> dict[str, Any]:
    splits = [split for split in SPLITS if any(file.split == split for file in files)]
    return {
        "config_name": config,
        "features": features_yaml(arrow_schema((CONFIGS | ADDED_CONFIGS)[config])),
        "splits": [
            {
                "name": split,
                "num_bytes": sum(file.bytes or 0 for file in files if file.split == split),
                "num_examples": sum(file.rows or 0 for file in files if file.split == split),
            }
            for split in splits
        ],
    }
