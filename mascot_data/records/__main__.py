"""``python -m mascot_data.records`` writes the JSON Schemas of all configs to ``schemas/`` of the checkout."""

import json
from pathlib import Path

from mascot_data.records import CONFIGS, json_schema


def schema_text(config: str) -> str:
    """Return the JSON Schema of a config as it is committed."""
    return json.dumps(json_schema(CONFIGS[config]), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in CONFIGS:
        Path("schemas", f"{name}.schema.json").write_text(schema_text(name), encoding="utf-8")
