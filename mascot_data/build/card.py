"""The dataset card: YAML that names configs, splits and features, and a text from the build's own facts.

``datasets`` keys its local cache by the YAML, not by the files. Each config's description therefore holds a digest of
its files: a rebuilt dataset is never read from a stale cache.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jinja2
import yaml

from mascot_data.build.corpora import Corpus
from mascot_data.build.writing import Written, config_digest
from mascot_data.records import CONFIGS, FLAGS, arrow_schema, features_yaml
from mascot_data.records.dialogue import SPLITS
from mascot_data.resources import shared_folder

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


class CarriedFile(NamedTuple):
    """A Parquet file that the build did not write, of a config of its own."""

    config: str
    split: str
    sha256: str


def card(corpus: Corpus, facts: dict[str, Any], written: Sequence[Written], carried: Sequence[CarriedFile] = ()) -> str:
    """Render ``README.md`` of a dataset directory; ``carried`` are files of later steps that stay in it."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    template = environment.from_string(shared_folder("hub_cards").joinpath("dataset.md.jinja").read_text("utf-8"))
    header = yaml.safe_dump(
        front_matter(corpus, facts, written, carried), sort_keys=False, allow_unicode=True, width=1000
    )
    return template.render(
        header=header,
        corpus=corpus,
        facts=facts,
        account=facts["account"],
        configs=_configs(written),
        flags=FLAGS,
        splits=SPLITS,
    )


def front_matter(
    corpus: Corpus, facts: dict[str, Any], written: Sequence[Written], carried: Sequence[CarriedFile] = ()
) -> dict[str, Any]:
    """Return the YAML of a card as data."""
    configs = _configs(written)
    everything: list[Written | CarriedFile] = [*written, *carried]
    rows = sum(file.rows for file in written)
    return {
        "pretty_name": f"{corpus.title}, multi-agent (MASCOT)",
        "language": ["en"],
        "license": corpus.license,
        "size_categories": [next((name for limit, name in _SIZES if rows < limit), "1M<n<10M")],
        "task_categories": ["text-generation"],
        "tags": ["dialogue", "multi-agent", "persona", "mascot", corpus.source],
        "configs": [
            _config(corpus, config, [file for file in everything if file.config == config])
            for config in dict.fromkeys(file.config for file in everything)
        ],
        "dataset_info": [_info(config, files) for config, files in configs.items()],
    }


def _configs(written: Sequence[Written]) -> dict[str, list[Written]]:
    found: dict[str, list[Written]] = {}
    for file in written:
        found.setdefault(file.config, []).append(file)
    return found


def _config(corpus: Corpus, config: str, files: Sequence[Written | CarriedFile]) -> dict[str, Any]:
    present = {file.split for file in files}
    return {
        "config_name": config,
        "description": f"{config} of {corpus.title}; content {config_digest(file.sha256 for file in files)}",
        **({"default": True} if config == "dialogues" else {}),
        "data_files": [
            {"split": split, "path": f"data/{config}/{split}-*.parquet"} for split in SPLITS if split in present
        ],
    }


def _info(config: str, files: Sequence[Written]) -> dict[str, Any]:
    splits = [split for split in SPLITS if any(file.split == split for file in files)]
    return {
        "config_name": config,
        "features": features_yaml(arrow_schema(CONFIGS[config])),
        "splits": [
            {
                "name": split,
                "num_bytes": sum(file.bytes for file in files if file.split == split),
                "num_examples": sum(file.rows for file in files if file.split == split),
            }
            for split in splits
        ],
    }
