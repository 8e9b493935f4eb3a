import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra [judge] is not installed")
pytest.importorskip("sklearn", reason="the extra [judge] is not installed")

from mascot_data.errors import ModelError, OutputError
from mascot_data.judge.embedded.held_out import held_out_scores
from mascot_data.judge.embedded.learnt import Learnt, load_or_learn
from mascot_data.judge.embedded.probe import Linear, Probe, Scale, learn
from mascot_data.judge.embedded.training import ENOUGH_LABELS, Learner, Sizes, learn_from
from mascot_data.judge.embedded.wording import Wording, sentences
from tests.judge.small import SAYINGS, ByWords, talks

SIZES = Sizes(states=300, dialogues=100, held_out_states=80, held_out_dialogues=20)
EXAMPLES = ["it sounds like a hard day", "what do you mean ?"]


def learnt_from(number: int, seed: int = 0) -> Learnt:
    return learn_from(talks(number), EXAMPLES, Learner(ByWords(), ByWords(), SIZES, seed))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def learnt() -> Learnt:
    return learnt_from(100)


def probe_of(learnt: Learnt) -> Probe:
    assert learnt.probe is not None
    return learnt.probe


def test_it_tells_on_unseen_dialogues_what_a_turn_does(learnt: Learnt) -> None:
    scores = held_out_scores(learnt, talks(30, seed=1), Learner(ByWords(), ByWords(), SIZES))  # type: ignore[arg-type]
    assert scores["persona"]["right_over_wrong"] > 0.95
    assert scores["verb"]["right_over_wrong"] > 0.95
    assert scores["next_turn"]["n"] == 80
    assert scores["next_turn"]["true_over_random"] > 0.6


def test_labels_are_those_of_the_corpus_and_probabilities_sum_to_one(learnt: Learnt) -> None:
    probe = probe_of(learnt)
    assert set(probe.heads["persona"].labels) == {persona for persona, _ in SAYINGS}
    assert set(probe.heads["verb"].labels) == {verb for _, verb in SAYINGS}
    texts = ["what makes you sad about the exam ?", "", "?!", "words that nobody has used so far"]
    found = probe.chances("persona", texts, ByWords()(texts))
    assert np.allclose(found.sum(1), 1, atol=1e-5)
    assert probe.heads["persona"].labels[found[0].argmax()] == "catalyst"


def test_one_sentence_more_changes_no_more_than_its_share_of_the_words(learnt: Learnt) -> None:
    probe = probe_of(learnt)
    head = probe.heads["persona"]
    kept = "it sounds like you feel sad about the exam."
    before, after = probe.by_words(head, [kept, f"{kept} what makes you sad?"])
    assert np.abs(after - before).max() <= 5 / 15 + 1e-6


def test_with_too_few_labels_there_is_no_probe() -> None:
    few = learnt_from((ENOUGH_LABELS - 1) // 4)
    assert few.probe is None
    assert not few.facts["matching_learnt"]


def test_a_rare_label_is_left_out() -> None:
    some = talks(100)
    odd = some[0]._replace(turns=(some[0].turns[0], some[0].turns[1]._replace(persona="rare", verb="restate")))
    found = probe_of(learn_from([odd, *some[1:]], EXAMPLES, Learner(ByWords(), ByWords(), SIZES)))  # type: ignore[arg-type]
    assert "rare" not in found.heads["persona"].labels
    assert "restate" not in found.heads["verb"].labels


def test_what_was_learnt_comes_back_from_the_cache_as_it_was(learnt: Learnt, tmp_path: Path) -> None:
    def never() -> Learnt:
        raise AssertionError("it was learnt twice")

    load_or_learn(tmp_path, "key", lambda: learnt)
    again = load_or_learn(tmp_path, "key", never)
    texts = ["what makes you sad about the dog ?", "try to sleep. You could rest!"]
    states = ByWords()(texts)
    for kind in ("persona", "verb"):
        assert np.array_equal(
            probe_of(again).chances(kind, texts, states), probe_of(learnt).chances(kind, texts, states)
        )
    assert again.facts == json.loads(json.dumps(learnt.facts))
    assert (again.matching.slope, again.matching.offset) == (learnt.matching.slope, learnt.matching.offset)
    assert np.array_equal(again.matching.ahead, learnt.matching.ahead)


def test_the_same_seed_learns_the_same_and_nothing_in_the_cache_can_run(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        load_or_learn(tmp_path / folder, "key", lambda: learnt_from(80, seed=3))
    first, second = (tmp_path / folder / "judges" / "key" for folder in ("first", "second"))
    assert sorted(path.name for path in first.iterdir()) == ["learnt.json", "learnt.safetensors"]
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes()


@pytest.mark.parametrize("file", ["learnt.json", "learnt.safetensors"])
@pytest.mark.parametrize("how", ["changed", "cut", "gone"])
def test_damaged_files_are_not_used(learnt: Learnt, tmp_path: Path, file: str, how: str) -> None:
    load_or_learn(tmp_path, "key", lambda: learnt)
    path = tmp_path / "judges" / "key" / file
    content = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(
            content[: len(content) // 2] if how == "cut" else content.replace(content[100:104], b"1234", 1)
        )
    with pytest.raises(ModelError, match="delete this folder"):
        load_or_learn(tmp_path, "key", lambda: learnt)


def test_files_of_another_key_are_not_used(learnt: Learnt, tmp_path: Path) -> None:
    load_or_learn(tmp_path, "one", lambda: learnt)
    (tmp_path / "judges" / "one").rename(tmp_path / "judges" / "two")
    with pytest.raises(ModelError, match="digests differ"):
        load_or_learn(tmp_path, "two", lambda: learnt)


def test_learning_that_was_killed_leaves_nothing_that_is_taken_for_whole(learnt: Learnt, tmp_path: Path) -> None:
    def killed() -> Learnt:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_or_learn(tmp_path, "key", killed)
    part = tmp_path / "judges" / ".key.part"
    part.mkdir()
    (part / "learnt.json").write_text("{")
    assert load_or_learn(tmp_path, "key", lambda: learnt).facts


def test_a_cache_that_cannot_be_written_is_said_so(learnt: Learnt, tmp_path: Path) -> None:
    (tmp_path / "judges").write_text("a file where the folder should be")
    with pytest.raises(OutputError, match="MASCOT_CACHE"):
        load_or_learn(tmp_path, "key", lambda: learnt)


def test_two_labels_are_learnt_as_well_as_many() -> None:
    features = np.array([[0.0], [0.2], [0.8], [1.0]] * 5)
    linear = learn(features, ["low", "low", "high", "high"] * 5, ("high", "low"), 100.0, 0)
    found = linear(np.array([[0.0], [1.0]]))
    assert found[0, 1] > 0.9 > 0.1 > found[1, 1]
    assert np.allclose(found.sum(1), 1)


def test_a_dimension_that_never_changes_is_no_error() -> None:
    assert np.isfinite(Scale.of(np.ones((3, 2), np.float32))(np.ones((1, 2), np.float32))).all()


def test_large_odds_are_no_error() -> None:
    assert Linear(np.array([[1e4], [-1e4]], np.float32), np.zeros(2, np.float32))(np.ones((1, 1)))[0].tolist() == [1, 0]


def test_words_are_weighted_the_same_after_a_round_trip() -> None:
    made = Wording.learn(["a cat sat?", "a dog sat!", "the cat ran"])
    again = Wording(made.terms, made.idf)
    assert (made(["a cat ran?"]) != again(["a cat ran?"])).nnz == 0


def test_sentences_end_at_marks_and_line_breaks() -> None:
    assert sentences("One. Two?\nThree!!  Four") == ["One.", "Two?", "Three!!", "Four"]
    assert sentences("e.g. this") == ["e.g.", "this"]
    assert sentences("...") == ["..."]
    assert sentences("") == [""]
