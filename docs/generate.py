"""``python docs/generate.py``, in a checkout: write ``schemas/`` and ``docs/formats.md`` from the row models."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq

from mascot_data.build import build
from mascot_data.build.directives import tone_of, verbs_and_focuses
from mascot_data.build.tables import table
from mascot_data.personas import Card, load_personas
from mascot_data.records import ADDED_CONFIGS, CONFIGS, FLAGS, json_schema
from mascot_data.records.document import new_models, render_page

PAGE = Path("docs", "formats.md")
EXAMPLES = {
    "dialogues": "esconv:4",
    "speaker_turns": "esconv:4/5",
    "director_turns": "esconv:4/5",
    "blocks": "esconv:4/8+3",
}
"""The rows of the sample that the page shows, all of one conversation."""

MODELS = CONFIGS | ADDED_CONFIGS
"""Row model of every config."""


def schema_text(config: str) -> str:
    """Return the JSON Schema of a config as it is committed."""
    return json.dumps(json_schema(MODELS[config]), indent=2, ensure_ascii=False) + "\n"


def formats_page(sample: Path, template: str) -> str:
    """Return the page on formats; ``sample`` is the folder with the datasets of the sample."""
    rows = {config: _row(sample / "esconv-multiagent", config, key) for config, key in EXAMPLES.items()}
    nested = new_models(MODELS)
    return render_page(template, models=MODELS, nested=nested, rows=rows, flags=_flags(), **_labels())


def _row(directory: Path, config: str, key: str) -> dict[str, Any]:
    for path in sorted(directory.glob(f"data/{config}/*.parquet")):
        for row in pq.read_table(path, filters=[("id", "=", key)]).to_pylist():
            return dict(row)
    raise LookupError(f"{directory}: no row {key!r} in {config}; name another in {__name__}.EXAMPLES")


def _flags() -> list[tuple[str, str]]:
    return [(f"`{flag}`", meaning) for flag, meaning in FLAGS.items()]


def _labels() -> dict[str, Any]:
    personas = load_personas()
    companions = personas.roster_for("psychological-support").personas
    meeting = table("directives")["meeting"]
    valences = ("negative", "positive", "neutral")
    return {
        "acts": {corpus: list(_acts(corpus)) for corpus in ("esconv", "empathetic-dialogues")},
        "focuses": verbs_and_focuses("esconv")[1],
        "meeting": [(f"`{agent}`", action, tone_of(agent, None)) for agent, action in meeting.items()],
        "tones": [(f"`{agent}`", *(tone_of(agent, valence) for valence in valences)) for agent in companions],
        "default_tone": table("directives")["default_tone"],
        "card_fields": [(f"`{name}`", field.description) for name, field in Card.model_fields.items()],
    }


def _acts(corpus: str) -> Iterator[tuple[str, str, str]]:
    personas = load_personas()
    persona_of = personas.by_act(corpus, personas.roster_for("psychological-support"))
    for act, verb in table("acts")[corpus]["actions"].items():
        yield act, f"`{persona_of[act]}`" if act in persona_of else "that of the neighbouring agent turn", verb


def main() -> None:
    """Write the files, in the working directory."""
    for name in MODELS:
        Path("schemas", f"{name}.schema.json").write_text(schema_text(name), encoding="utf-8")
    with TemporaryDirectory() as folder:
        build("esconv", sample=True, output=folder)
        page = formats_page(Path(folder), PAGE.with_suffix(".md.jinja").read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
