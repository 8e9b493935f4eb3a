"""All measures over rows: how rows are grouped, and that every measure moves as it should when agents get worse."""

import json
import random
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from mascot_data.stats import Measured, about_measures, load_embedder, measure_blocks, roster_of
from mascot_data.stats.embedding import Vectors
from tests.stats import variants
from tests.stats.variants import Row

VOICES = {
    "anchor": "it sounds as if {} hurt you and you feel alone with {}",
    "catalyst": "what would change if {} were not your fault and {} could wait",
    "beacon": "you have shown courage with {} and I am proud of {} too",
    "guide": "write down one step about {} and then call somebody about {}",
}
THINGS = [
    f"{how}{what}"
    for how in ("my ", "this ", "that old ", "every ")
    for what in ["work", "house", "sister", "exam", "dog", "move", "letter", "garden", "neighbour", "birthday"]
]


def bag_of_words(texts: Sequence[str]) -> Vectors:
    """Embed by counting words into 64 places: alike where words are alike."""
    found = np.zeros((len(texts), 64), np.float32)
    for row, text in zip(found, texts, strict=True):
        row[0] = 1e-3
        for word in text.lower().split():
            row[1 + zlib.crc32(word.encode()) % 63] += 1
    vectors: Vectors = found / np.linalg.norm(found, axis=1, keepdims=True)
    return vectors


def block(number: int, seed: int = 0) -> Row:
    """Make a block of a person and four agents, each with its own voice, all about two things."""
    chance = random.Random(1000 * seed + number)
    about = chance.sample(THINGS, 2)
    turns: list[Row] = []
    for persona in chance.choices(list(VOICES), k=4):
        turns.append(
            {"speaker": "user", "kind": "user", "persona": None, "text": f"I think of {about[0]} and {about[1]}."}
        )
        text = VOICES[persona].format(*chance.sample(about, 2)) + f" {chance.choice(THINGS)}."
        turns.append({"speaker": persona, "kind": "agent", "persona": persona, "text": text})
    return {
        "dialogue_id": f"d{number}",
        "subset": "ab"[number % 2],
        "turns": turns,
        "origin": "corpus",
        "rollout": None,
    }


ROWS = [block(number) for number in range(60)]


def measured(rows: list[Row], **options: Any) -> Measured:
    (found,) = measure_blocks(rows, embedder=options.pop("embedder", bag_of_words), **options)
    return found


def values(rows: list[Row], **options: Any) -> dict[str, float]:
    found = measured(rows, **options).measures
    return {name: measure.value for name, measure in found.items() if measure.value is not None}


def test_every_measure_is_explained_and_every_explanation_is_measured() -> None:
    found = measured(ROWS)
    assert list(found.measures) == list(about_measures())
    for about in about_measures().values():
        assert all(about)
        assert about.says.endswith(".")


def test_systems_are_the_corpus_and_the_modes() -> None:
    rollouts = [
        {**block(number, 1), "origin": "rollout", "rollout": {"mode": mode}}
        for number, mode in enumerate(["zero-shot", "mascot", "mascot"])
    ]
    found = measure_blocks(rollouts + ROWS, embedder=bag_of_words)
    assert [tuple(one.system) for one in found] == [
        ("corpus", None, None),
        ("rollout", "mascot", None),
        ("rollout", "zero-shot", None),
    ]
    assert [(one.dialogues, one.blocks, one.agent_turns) for one in found] == [(60, 60, 240), (2, 2, 8), (1, 1, 4)]
    assert found[0] == measured(ROWS)


def test_subsets_are_measured_by_themselves() -> None:
    whole, first, second = measure_blocks(ROWS, by_subset=True, embedder=bag_of_words)
    assert [one.system.subset for one in (whole, first, second)] == [None, "a", "b"]
    assert whole == measured(ROWS)
    assert first.measures == measured(ROWS[::2]).measures
    assert first.blocks + second.blocks == whole.blocks


def test_blocks_of_a_dialogue_are_one_dialogue() -> None:
    halves = [{**row, "turns": turns} for row in ROWS for turns in (row["turns"][:4], row["turns"][4:])]
    found = measured(halves)
    assert (found.dialogues, found.blocks) == (60, 120)


def test_the_same_rows_give_the_same_numbers_and_they_are_plain() -> None:
    plain = measured(ROWS).as_dict()
    assert plain == measured(ROWS).as_dict()
    assert json.loads(json.dumps(plain)) == plain


def test_no_more_blocks_are_embedded_than_asked() -> None:
    asked: list[int] = []

    def counting(texts: Sequence[str]) -> Vectors:
        asked.append(len(texts))
        return bag_of_words(texts)

    assert measured(ROWS, embedder=counting, embedded_blocks=7).embedded_blocks == 7
    assert asked == [28]


def test_counts_of_forms_are_those_of_a_plain_count() -> None:
    rows = variants.flattering(ROWS[:30]) + ROWS[30:]
    found = measured(rows).measures
    turns = [turn["text"] for _, _, turn in variants.agent_turns(rows)]
    assert found["other_angle"].value == sum("?" in text for text in turns) / len(turns)
    assert found["agrees_with_person"][:2] == (0.5, 240)
    assert found["agrees_with_agent"][:2] == (None, 0)


def test_one_assistant_without_a_persona_is_measured() -> None:
    rows = variants.one_persona(ROWS, "")
    for _, _, turn in variants.agent_turns(rows):
        turn.update(persona=None, speaker="assistant")
    found = measured(rows).measures
    assert found["speaker_entropy"].why
    assert found["separability"].why
    assert found["longest_run"].value == 4
    assert found["distinct_1"].value


def test_rosters() -> None:
    assert roster_of(["guide"]) == ["anchor", "catalyst", "beacon", "guide"]
    assert roster_of(["guide", "zen"]) == ["anchor", "catalyst", "beacon", "guide", "zen"]
    assert roster_of(["zen", "assistant"]) == ["assistant", "zen"]
    assert roster_of([]) == []


def test_nothing_and_next_to_nothing_are_no_fault() -> None:
    assert measure_blocks([]) == []
    people = {**ROWS[0], "turns": ROWS[0]["turns"][:1]}
    for rows in ([people], [{**people, "turns": []}], [{**ROWS[0], "turns": ROWS[0]["turns"][1:2]}]):
        found = measured(rows).measures
        assert all((one.value is None) == bool(one.why) for one in found.values())
        assert found["redundancy"].value is None


def test_missing_packages_are_told_in_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "sklearn.feature_extraction.text"):
        monkeypatch.setitem(sys.modules, name, None)
    load_embedder.cache_clear()
    (found,) = measure_blocks(ROWS)
    load_embedder.cache_clear()
    told = {name for name, one in found.measures.items() if "pip install 'mascot-data[judge]'" in one.why}
    meaning = {"redundancy", "redundancy_most", "redundancy_earlier", "redundancy_chance", "similar_to_agent"}
    assert told == meaning | {name for name in found.measures if name.startswith("separability")}
    assert (found.embedded_blocks, found.f1_by_persona) == (0, {})


def check_directions(rows: list[Row], voice: str, **options: Any) -> None:
    """Check that every measure moves the right way from real blocks to worse ones."""
    real = values(rows, **options)
    shuffled = values(variants.shuffled(rows), **options)
    one_voice = values(variants.one_voice(rows, voice), **options)
    one_persona = values(variants.one_persona(rows, voice), **options)
    stuck = values(variants.stuck(rows), **options)
    flattering = values(variants.flattering(rows), **options)

    assert real["separability"] > real["separability_chance"] + 0.15
    for other in (shuffled, one_voice):
        assert abs(other["separability"] - other["separability_chance"]) < 0.15
        assert other["separability"] < real["separability"] - 0.1
    assert shuffled["redundancy"] < real["redundancy"] < stuck["redundancy"]
    assert shuffled["similar_to_agent"] < real["similar_to_agent"] < stuck["similar_to_agent"]
    assert stuck["redundancy_earlier"] == pytest.approx(1, abs=1e-5)
    assert stuck["echo_of_agents"] == pytest.approx(1)
    assert real["redundancy_chance"] < real["redundancy"]
    assert one_voice["redundancy_chance"] > real["redundancy_chance"]
    for worse in (one_voice, stuck, flattering):
        assert worse["distinct_2"] < real["distinct_2"]
        assert worse["self_bleu"] > real["self_bleu"]
    assert shuffled["distinct_1_all"] == real["distinct_1_all"]
    assert one_persona["speaker_entropy"] == one_persona["next_speaker_entropy"] == 0
    assert one_persona["roster_share"] < real["roster_share"]
    assert one_persona["longest_run"] > real["longest_run"]
    assert flattering["agrees_with_person"] == 1 > real["agrees_with_person"]
    assert flattering["merely_agrees"] > real["merely_agrees"]
    assert flattering["echo_of_before"] > real["echo_of_before"] > shuffled["echo_of_before"]
    assert flattering["other_angle"] < real["other_angle"]


def test_measures_move_the_right_way() -> None:
    pytest.importorskip("sklearn", reason="persona separability needs the extra [judge]")
    check_directions(with_questions(ROWS), "anchor")


def with_questions(rows: list[Row]) -> list[Row]:
    """Let Catalyst ask, and everybody take up words of the person."""
    return variants._changed(
        rows,
        lambda row, index, turn: turn.update(
            text=f"{' '.join(row['turns'][index - 1]['text'].split()[-2:])} {turn['text']}"
            + "?" * (turn["persona"] == "catalyst")
        ),
    )


@pytest.mark.parametrize(("corpus", "dialogues"), [("esconv", 40), ("empathetic-dialogues", 250)])
def test_measures_move_the_right_way_on_real_blocks(real_build: Path, corpus: str, dialogues: int) -> None:
    for name in ("sklearn", "torch", "transformers"):
        pytest.importorskip(name, reason="these measures need the extra [judge]")
    columns = ["dialogue_id", "subset", "turns", "origin", "rollout"]
    (path,) = (real_build / f"{corpus}-multiagent" / "data" / "blocks").glob("test-*.parquet")
    rows = pq.read_table(path, columns=columns).to_pylist()
    names = random.Random(0).sample(sorted({row["dialogue_id"] for row in rows}), dialogues)
    rows = [row for row in rows if row["dialogue_id"] in names]
    check_directions(rows, "anchor", embedder=load_embedder(), embedded_blocks=15)
