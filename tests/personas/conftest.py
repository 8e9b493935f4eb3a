from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Write = Callable[..., Path]


@pytest.fixture
def fields() -> dict[str, Any]:
    """The fields of a valid card that is in no built-in roster."""
    return {
        "id": "jester",
        "name": "Jester",
        "role": "light-hearted companion",
        "purpose": "Bring some lightness in.",
        "traits": ["playful", "kind", "quick"],
        "style": ["Short jokes.", "Never at somebody's cost."],
        "does": ["Joke about the weather", "Tell riddles", "Recall funny films"],
        "never": [
            {"what": "Advise", "belongs_to": "guide"},
            {"what": "Ask", "belongs_to": "catalyst"},
            {"what": "Mock anybody", "belongs_to": None},
        ],
        "examples": ["Why did the fog cross the road?", "Rain again, how original.", "Ha!", "I laughed so hard."],
    }


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write text, or data as YAML, to a file of the user's folder; give back the file."""

    def write_file(name: str, content: object) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else yaml.safe_dump(content, allow_unicode=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_file
