"""The card's YAML against the files: what it declares is what loading finds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from mascot_data.build.writing import config_digest
from mascot_data.records import ADDED_CONFIGS, CONFIGS, arrow_schema, features_yaml
from mascot_data.validate.facts import Facts
from mascot_data.validate.files import PARQUET_ERRORS, parquet_files

CARD = "README.md"
DEFAULT = "dialogues"


class _Header(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class _DataFiles(_Header):
    split: str
    path: str


class _Config(_Header):
    config_name: str
    description: str = ""
    default: bool = False
    data_files: list[_DataFiles]


class _Split(_Header):
    name: str
    num_examples: int


class _Info(_Header):
    config_name: str
    features: list[dict[str, Any]]
    splits: list[_Split]


class _Card(_Header):
    configs: list[_Config]
    dataset_info: list[_Info]


def card_problems(root: Path, facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield what the card says that the files or the provenance do not; unknown configs are left alone."""
    try:
        card = _read(root / CARD)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        yield CARD, f"has no sound YAML header ({_brief(error)}); build the dataset again"
        return
    configs = {config.config_name: config for config in card.configs}
    infos = {info.config_name: info for info in card.dataset_info}
    for name, double in (("configs", configs), ("dataset_info", infos)):
        if len(double) != len(getattr(card, name)):
            yield CARD, f"{name} has a config twice"
    if [config.config_name for config in card.configs if config.default] != [DEFAULT]:
        yield CARD, f"the default config is not {DEFAULT} alone"
    for name in CONFIGS | ADDED_CONFIGS:
        if name in configs and name in infos:
            yield from ((CARD, f"config {name}: {what}") for what in _config(root, configs[name], infos[name], facts))
        elif name == DEFAULT or _splits(root, name):
            yield CARD, f"does not declare the config {name}"


def _read(path: Path) -> _Card:
    parts = path.read_text(encoding="utf-8").split("---\n", 2)
    if len(parts) != 3 or parts[0]:
        raise ValueError("it does not begin with a block between two lines ---")
    return _Card.model_validate(yaml.load(parts[1], getattr(yaml, "CSafeLoader", yaml.SafeLoader)))  # noqa: S506


def _brief(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return " ".join(str(error).split())


def _config(root: Path, config: _Config, info: _Info, facts: Facts) -> Iterator[str]:
    folder = f"data/{config.config_name}/"
    digest = config_digest(stated.sha256 for path, stated in facts.all_files.items() if path.startswith(folder))
    if digest not in config.description:
        yield "its description lacks the digest of its files, so a stale cache could be read"
    if info.features != features_yaml(arrow_schema((CONFIGS | ADDED_CONFIGS)[config.config_name])):
        yield "its features are not those of the schema"
    stated = {split.name for split in info.splits}
    if not stated == {entry.split for entry in config.data_files} == _splits(root, config.config_name):
        yield "its splits are not those of the files"
    counts = {split.name: split.num_examples for split in info.splits}
    for entry in config.data_files:
        yield from _data_files(root, config.config_name, entry, counts.get(entry.split))


def _splits(root: Path, config: str) -> set[str]:
    return {path.name.partition("-")[0] for path in (root / "data" / config).glob("*.parquet")}


def _data_files(root: Path, config: str, entry: _DataFiles, stated: int | None) -> Iterator[str]:
    try:
        files = sorted(root.glob(entry.path))
    except (ValueError, NotImplementedError):  # an empty or an absolute pattern
        files = []
    if not files or files != parquet_files(root, config, entry.split):
        yield f"{entry.path!r} does not match just the files of {entry.split}"
        return
    try:
        rows = sum(pq.read_metadata(file).num_rows for file in files)
    except PARQUET_ERRORS:
        return  # the check of the files tells
    if rows != stated:
        yield f"{entry.split} has {rows:,} rows, not {stated}"
