import json
import re
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.build import acts
from mascot_data.build.acts import Inventory, expand, label_act, label_acts, label_query, strategy_of
from mascot_data.build.columns import strings
from mascot_data.build.tables import table
from mascot_data.personas import load_personas

INVENTORIES: tuple[Inventory, ...] = get_args(Inventory)
BLOCKS = (*INVENTORIES, "qmsum")
LABELS = [(block, label, entry) for block in BLOCKS for label, entry in table("cues")[block].items()]
CUES = [(block, label, cue) for block, label, entry in LABELS for cue in entry["cues"]]

INTENTS = {
    "questioning": ["Where did you two meet?", "Did the vet call back?", "How long have you lived by the lake?"],
    "acknowledging": [
        "That sounds really exhausting.",
        "Wow, that must have been a scary night!",
        "I bet your sister was thrilled.",
        "How nice, that is awesome!",
    ],
    "agreeing": [
        "I agree, the old bridge was better.",
        "Yes, exactly.",
        "I know what you mean.",
        "Me too, I do the same every winter.",
    ],
    "consoling": ["Oh no, I hope it gets better.", "Hopefully they will find your bag.", "I hope you feel better."],
    "encouraging": ["I hope you have a great trip!", "I hope you enjoy the concert, have fun!", "Hope it goes well!"],
    "wishing": ["Congratulations on the new flat!", "Good luck with the exam!", "I wish you all the best."],
    "suggesting": [
        "Maybe you could ask the neighbours.",
        "You should talk to a lawyer.",
        "Perhaps try to write it down.",
    ],
    "sympathizing": ["I'm so sorry about your cat.", "I am sorry for your loss.", "Sorry to hear that."],
    "neutral": ["But it was only a rehearsal.", "At least the tent was dry.", "I guess he just didn't see the sign."],
}
STRATEGIES = {
    "Question": ["What is on your mind?", "Do you live near your brother?", "Hi, how can I help you?"],
    "Restatement or Paraphrasing": [
        "So you are saying he never called, is that right?",
        "So you lost the lease, correct?",
    ],
    "Reflection of feelings": [
        "I can tell that you are feeling overwhelmed.",
        "It must be frustrating, I can feel how hurt you are.",
    ],
    "Self-disclosure": [
        "I have been in a similar situation myself, when I lost my job.",
        "Years ago my father and I went through the same thing.",
    ],
    "Affirmation and Reassurance": [
        "That is a great step, I believe you will get better.",
        "I'm sure you will be okay.",
    ],
    "Providing Suggestions": [
        "Maybe you could try to take a walk or write your thoughts in a journal.",
        "Have you considered a therapist?",
        "I would suggest that you start a hobby.",
    ],
    "Information": [
        "There are free services for people in most cities.",
        "Studies have shown that sleep is often the cause.",
    ],
    "Others": ["You're welcome, have a good day!", "Thank you for chatting, bye!", "Hello!"],
}
QUERIES = {
    "scribe": [
        "Summarize the whole meeting.",
        "What was said about the garden fence?",
        "What did the treasurer think of the brochure?",
        "Who presented the survey, and what were its figures?",
        "Describe the layout of the new kitchen.",
        "What did the team discuss about the logo?",
        "Summarize the discussion about the colour of the seats.",
        "How did the architect introduce the model?",
        "Which numbers did the accountant mention?",
        "Give an overview of the talk about harbour fees.",
        "What did they say about the museum when talking about the decision on opening hours?",
    ],
    "decision-logger": [
        "What did the group decide about the price?",
        "What was the decision on the ferry timetable?",
        "Summarize the conclusion about the sensor.",
        "What did the board agree on regarding the lease?",
        "Was an agreement reached about the holiday rota?",
        "What did they finally choose for the cover?",
        "Which supplier was approved?",
        "What was agreed by the committee about parking?",
        "What did the panel conclude on the test results?",
        "What did the council decide when discussing problems with the tram?",
    ],
    "action-captain": [
        "What are the next steps for the prototype?",
        "What did the engineer recommend for the battery?",
        "What did the chair propose about the training?",
        "What should the volunteers prepare for Monday?",
        "How will the committee raise the money?",
        "What is the plan for the summer fair?",
        "Which tasks were given to the designer?",
        "What did the librarian suggest about late returns?",
        "Summarize the discussion on how to shorten the queue.",
        "What measures will be taken against the noise in the hall when evaluating the risks?",
    ],
    "critic": [
        "Why did the designer reject the wheel?",
        "Why did the group decide to drop the second screen?",
        "What concerns did the nurse raise?",
        "Summarize the problems with the old archive.",
        "Did anybody disagree with the budget?",
        "What were the disadvantages of the wooden case?",
        "Which risks does the new contract bring?",
        "How did the team evaluate the prototype?",
        "What doubts did the teachers have about the tablet?",
    ],
}


def cases(expected: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(text, label) for label, texts in expected.items() for text in texts]


@pytest.mark.parametrize(("text", "label"), cases(INTENTS))
def test_intent(text: str, label: str) -> None:
    assert label_act(text) == label


@pytest.mark.parametrize(("text", "label"), cases(STRATEGIES))
def test_strategy(text: str, label: str) -> None:
    assert label_act(text, "esconv") == label


@pytest.mark.parametrize(("query", "persona"), cases(QUERIES))
def test_query(query: str, persona: str) -> None:
    assert label_query(query) == persona


def test_a_query_that_opens_with_its_place_is_read_whole() -> None:
    assert label_query("When discussing the roof, what did they decide?") == "decision-logger"


@pytest.mark.parametrize("inventory", INVENTORIES)
@given(text=st.text())
def test_every_text_gets_a_label(inventory: Inventory, text: str) -> None:
    assert label_act(text, inventory) in table("cues")[inventory]


@given(st.text())
def test_every_query_gets_a_persona(query: str) -> None:
    assert label_query(query) in load_personas().roster_for("workplace").personas


@pytest.mark.parametrize("text", ["", "  \n ", "???", "^ $", "? $ ^", "\u2028", "\ud800", "İ"])
def test_odd_texts_get_a_label(text: str) -> None:
    assert label_act(text) in INTENTS
    assert label_act(text, "esconv") in STRATEGIES
    assert label_query(text) in QUERIES


CUE_WORDS = sorted({word for _, _, cue in CUES for phrase in expand(cue) for word in phrase})
talk = st.lists(st.sampled_from([*CUE_WORDS, "they're", "don't", "that's", ",", "\n"]), max_size=20).map(" ".join)


@pytest.mark.parametrize("inventory", INVENTORIES)
@given(text=talk)
def test_case_apostrophes_and_space_make_no_difference(inventory: Inventory, text: str) -> None:
    label = label_act(text, inventory)
    for variant in (text.upper(), text.replace("'", "’"), text.replace("'", ""), f"  {text.replace(' ', '   ')} "):
        assert label_act(variant, inventory) == label


@pytest.mark.parametrize("inventory", INVENTORIES)
@given(text=talk)
def test_what_was_labelled_before_makes_no_difference(inventory: Inventory, text: str) -> None:
    label = label_act(text, inventory)
    acts._rules.cache_clear()
    label_act("I am sorry.", inventory)
    assert label_act(text, inventory) == label


@given(talk)
def test_scores_are_the_prior_and_each_held_cue_once(text: str) -> None:
    (words,) = acts._words(strings([text])).to_pylist()
    runs = {tuple(words[start : start + size]) for size in (1, 2, 3) for start in range(len(words) - size + 1)}
    scores = {
        label: entry["prior"] + sum(weight for cue, weight in entry["cues"].items() if not runs.isdisjoint(expand(cue)))
        for label, entry in table("cues")["empathetic-dialogues"].items()
    }
    assert label_act(text) == max(scores, key=lambda label: scores[label])


@given(st.lists(talk | st.text(st.characters(codec="utf-8")), max_size=5))
def test_a_column_is_labelled_text_by_text(texts: list[str]) -> None:
    assert label_acts(strings(texts), "esconv") == [label_act(text, "esconv") for text in texts]


def test_words_are_whole() -> None:
    assert label_act("The sorrybush is in the hallway.") == label_act("The tree is in the hallway.") != "sympathizing"


def test_expand() -> None:
    assert list(expand("(so|very|) sorry")) == [("so", "sorry"), ("very", "sorry"), ("sorry",)]
    assert list(expand("^ why $")) == [(".", "why", "$"), ("?", "why", "$"), ("!", "why", "$")]


def test_labels_are_those_of_the_other_tables() -> None:
    for inventory in INVENTORIES:
        assert set(table("cues")[inventory]) == set(table("acts")[inventory]["actions"])
    assert set(table("cues")["qmsum"]) == set(load_personas().roster_for("workplace").personas)


def test_an_intent_and_its_nearest_strategy_belong_to_one_persona() -> None:
    personas = load_personas()
    roster = personas.roster_for("psychological-support")
    intents, strategies = (personas.by_act(inventory, roster) for inventory in ("empathetic-dialogues", "esconv"))
    for intent in table("cues")["empathetic-dialogues"]:
        assert strategies.get(strategy_of(intent)) == intents.get(intent)


def test_every_label_has_a_table_that_can_be_read_through() -> None:
    for _, label, entry in LABELS:
        assert set(entry) == {"prior", "cues"}, label
        assert 1 <= len(entry["cues"]) <= 25, label
        assert 0 <= entry["prior"] <= 10, label
        assert all(isinstance(weight, int) and 1 <= weight <= 15 for weight in entry["cues"].values()), label


@pytest.mark.parametrize(("block", "label", "cue"), CUES)
def test_cue_is_in_the_notation(block: str, label: str, cue: str) -> None:
    """No quantifier can be written, so no cue can backtrack; what a text loses on being cut no cue has."""
    assert re.fullmatch(r"[a-z0-9^$.?!|() ]+", cue)
    assert not re.search(r"\([^()]*[($^]", cue), "one level of alternatives, no edges inside"
    assert cue.count("(") == cue.count(")")
    for phrase in expand(cue):
        assert 1 <= len(phrase) <= 3
        assert "^" not in phrase
        assert "$" not in phrase[:-1]
        assert phrase != (".",)
        (words,) = acts._words(strings([" ".join(phrase).rstrip("$")])).to_pylist()
        assert words[1:-1] == [word for word in phrase if word != "$"]


def test_no_cue_of_a_label_repeats_another() -> None:
    for _, label, entry in LABELS:
        counts = Counter(phrase for cue in entry["cues"] for phrase in expand(cue))
        assert not [phrase for phrase, count in counts.items() if count > 1], label


def test_no_key_of_the_table_is_written_twice() -> None:
    text = resources.files("mascot_data.build").joinpath("tables", "cues.yaml").read_text(encoding="utf-8")
    pending: list[Any] = [yaml.compose(text)]
    while pending:
        node = pending.pop()
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value]
            assert len(keys) == len(set(keys))
            pending += [value for _, value in node.value]


@pytest.mark.parametrize("block", BLOCKS)
def test_look_ups_per_word_are_bounded(block: str) -> None:
    """From a word on, at most two more are looked up, however long the text is."""

    follow = acts._rules(block).follow
    nodes, steps = {0}, 0
    while nodes := {int(after) for node in nodes for after in follow[node] if after}:
        steps += 1
    assert 0 < steps <= 3


@pytest.mark.parametrize("piece", ["i ", "? ", "^", "sorry ", "hope you have a ", "a", "’", "i know what ", "\n"])
def test_very_long_texts(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert label_act(text) in INTENTS
    assert label_act(text, "esconv") in STRATEGIES
    assert label_query(text) in QUERIES


def test_agrees_with_esconv_beyond_its_most_frequent_label(sources: Path) -> None:
    lines = (sources / "esconv" / "hf" / "test.txt").read_text(encoding="utf-8").splitlines()
    turns = [turn for line in lines for turn in json.loads(line)["dialog"] if turn["speaker"] == "sys"]
    labels = label_acts(strings([turn["text"] for turn in turns]), "esconv")
    right = sum(label == turn["strategy"] for label, turn in zip(labels, turns, strict=True))
    assert right / len(turns) > 0.49
