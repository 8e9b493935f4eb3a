"""The card's YAML against the files: what it declares is what loading finds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from mascot_data.build.writing import config_digest
from mascot_data.records import CONFIGS, arrow_schema, features_yaml
from mascot_data.validate.files import parquet_files

CARD = "README.md"


def card_problems(root: Path, facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what the card says that the files or the provenance do not."""
    header = _header(root / CARD)
    if header is None:
        yield CARD, "is missing or has no YAML header; build the dataset again"
        return
    infos = {info.get("config_name"): info for info in header.get("dataset_info", [])}
    for config in header.get("configs", []):
        name = config.get("config_name")
        if name not in CONFIGS:
            continue
        digest = config_digest(
            stated["sha256"] for path, stated in facts["files"].items() if path.startswith(f"data/{name}/")
        )
        if digest not in config.get("description", ""):
            yield CARD, f"config {name}: its description lacks the digest of its files, so a stale cache could be read"
        yield from _splits(root, config, infos.get(name, {}))
        if infos.get(name, {}).get("features") != features_yaml(arrow_schema(CONFIGS[name])):
            yield CARD, f"config {name}: its features are not those of the schema"
    stated = {config.get("config_name") for config in header.get("configs", [])}
    for folder in sorted((root / "data").glob("*")):
        if folder.is_dir() and folder.name not in stated:
            yield CARD, f"does not name the config {folder.name} that has files"


def _header(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    parts = path.read_text(encoding="utf-8").split("---\n", 2)
    try:
        header = yaml.safe_load(parts[1]) if len(parts) == 3 else None
    except yaml.YAMLError:
        return None
    return header if isinstance(header, dict) else None


def _splits(root: Path, config: dict[str, Any], info: dict[str, Any]) -> Iterator[tuple[str, str]]:
    name = config["config_name"]
    counts = {split["name"]: split["num_examples"] for split in info.get("splits", [])}
    for entry in config.get("data_files", []):
        files = sorted(root.glob(entry["path"]))
        if not files:
            yield CARD, f"config {name}: no file matches {entry['path']}"
        elif files != parquet_files(root, name, entry["split"]):
            yield CARD, f"config {name}: {entry['path']} does not match all files of the split"
        elif (rows := sum(pq.read_metadata(file).num_rows for file in files)) != counts.get(entry["split"]):
            yield CARD, f"config {name}: {entry['split']} has {rows:,} rows, not {counts.get(entry['split'])}"
