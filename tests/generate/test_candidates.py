"""Candidates: what is asked, what is kept of the answers, and that nothing is asked twice."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mascot_data.build.reading import read_rows
from mascot_data.build.run import build
from mascot_data.errors import DatasetError, ModelError, UsageError
from mascot_data.generate import candidates
from mascot_data.generate.seeds import seed_of
from mascot_data.models import Ask, Failure, Sample
from mascot_data.models.asking import Question
from mascot_data.records.dialogue import SPLITS
from mascot_data.validate import validate
from tests.cli.commands import left_in
from tests.models.scripted import Scripted, installed
from tests.validate.tampering import edit

Row = dict[str, Any]


def rows(root: Path, *splits: str) -> list[Row]:
    return [row for split in SPLITS if split in (splits or SPLITS) for row in read_rows(root, "candidates", split)]


def prompts(root: Path, *splits: str) -> list[Row]:
    return [row for split in SPLITS if split in (splits or SPLITS) for row in read_rows(root, "speaker_turns", split)]


def saying(said: dict[int, Sample], *, seed: int = 0) -> Scripted:
    """A model whose n-th sample for a prompt is as given, whatever the prompt."""

    def says(ask: Ask, of: int) -> Sample:
        return next(sample for number, sample in said.items() if of in seeds[number])

    known = [f"esconv:{dialogue}/{turn}" for dialogue in range(20) for turn in range(60)]
    seeds = {number: {seed_of(seed, prompt, number) for prompt in known} for number in said}
    return Scripted(says=says)


def test_the_human_reply_comes_first_and_each_sample_says_how_it_was_made(root: Path) -> None:
    with installed(Scripted()):
        report = candidates(root, ["scripted"], k=3, temperatures=[0.7], top_p=0.9, max_tokens=50, seed=4)
    assert validate(root).problems == []
    found = rows(root)
    assert report.prompts == len(prompts(root)) == sum(row["origin"] == "human" for row in found)
    humans = {row["prompt_id"]: row for row in found if row["k"] == 0}
    for prompt in prompts(root):
        human = humans[prompt["id"]]
        assert human["text"] == prompt["completion"][0]["content"]
        assert (human["persona"], human["license"]) == (prompt["persona"], prompt["license"])
    assert [row["prompt_id"] for row in found] == sorted(
        (row["prompt_id"] for row in found), key=[prompt["id"] for prompt in prompts(root)].index
    )
    sample = next(row for row in found if row["k"] == 2)
    assert sample["generator"] == {
        "model": "scripted",
        "revision": "r1",
        "backend": "transformers",
        "dtype": "float32",
        "method": "sample",
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 50,
        "seed": seed_of(4, sample["prompt_id"], 2),
    }


def test_every_model_and_temperature_gives_k_samples_with_seeds_of_their_own(root: Path) -> None:
    one, two = Scripted("one"), Scripted("two")
    with installed(one, two):
        report = candidates(root, ["one", "two"], k=2, temperatures=[0.2, 1.0], splits=["test"])
    count = len(prompts(root, "test"))
    assert report.asked == len(one.asked) + len(two.asked) == 2 * 2 * 2 * count
    seeds = [seed for _, seed in [*one.asked, *two.asked]]
    assert len(set(seeds)) == len(seeds)
    made = {row["k"]: row["generator"] for row in rows(root) if row["k"]}
    by_k = [(made[k]["model"], made[k]["temperature"]) for k in sorted(made)]
    assert by_k == [(model, t) for model in ("one", "two") for t in (0.2, 1.0) for _ in range(2)]


def test_what_is_kept_of_a_sample_and_what_is_said_of_it(root: Path) -> None:
    said = {
        1: Sample("  I hear you. ", "stop", -3.0, 4, 9),
        2: Sample("i HEAR\nyou.", "stop", -3.0, 4, 9),
        3: Sample("\n\t ", "stop", -1.0, 1, 9),
        4: Sample("That hurts.\nUser: it does\nAnchor: yes", "stop", -9.0, 12, 9),
        5: Sample("User: I am you", "stop", -2.0, 5, 9),
        6: Sample("It goes on and", "length", None, 4, 9),
        7: Sample("First.\nGuide: do this", "length", -4.0, 6, 9),
    }
    with installed(saying(said)):
        report = candidates(root, ["scripted"], k=7, splits=["test"])
    count = len(prompts(root, "test"))
    first = [row for row in rows(root) if row["prompt_id"] == prompts(root, "test")[0]["id"]]
    kept = [(row["k"], row["text"], row["finish_reason"], row["logprob"], row["tokens"]) for row in first[1:]]
    assert kept == [
        (1, "I hear you.", "stop", -3.0, 4),
        (4, "That hurts.", "speaker-tag", -9.0, 12),
        (6, "It goes on and", "length", None, 4),
        (7, "First.", "speaker-tag", -4.0, 6),
    ]
    assert report.dropped == {"duplicate": count, "empty": 2 * count}
    assert report.rows == {"human": count, "stop": count, "length": count, "speaker-tag": 2 * count}


def test_a_sample_that_says_what_the_human_said_is_dropped(root: Path) -> None:
    human = {prompt["id"]: prompt["completion"][0]["content"] for prompt in prompts(root)}
    seeds = {seed_of(0, name, 1): text for name, text in human.items()}
    with installed(Scripted(says=lambda ask, seed: Sample(f" {seeds[seed].upper()}\n", "stop", -1.0, 3, 7))):
        report = candidates(root, ["scripted"], k=1)
    assert {row["origin"] for row in rows(root)} == {"human"}
    assert report.dropped == {"duplicate": len(human)}


def test_names_of_the_people_of_a_meeting_end_a_sample_and_stop_the_model(tmp_path: Path) -> None:
    (report,) = build("qmsum", sample=True, limit=1, output=tmp_path)
    (dialogue, *_) = read_rows(report.directory, "dialogues", "train")
    person = next(speaker["id"] for speaker in dialogue["speakers"] if speaker["kind"] == "participant")
    asks: list[Question] = []
    model = Scripted(says=lambda ask, seed: Sample(f"Noted.\n**{person}**: no", "stop", -1.0, 3, 7), before=asks.extend)
    with installed(model):
        candidates(report.directory, ["scripted"], k=1)
    found = [row for row in rows(report.directory) if row["dialogue_id"] == dialogue["id"] and row["k"]]
    assert {(row["text"], row["finish_reason"]) for row in found} == {("Noted.", "speaker-tag")}
    for ask in asks:
        assert isinstance(ask, Ask)
        assert 0 < len(ask.sampling.stop) <= 4
        assert all(mark.startswith("\n") and mark.endswith(":") for mark in ask.sampling.stop)


def test_limit_and_split_say_how_much(root: Path) -> None:
    with installed(Scripted()):
        report = candidates(root, ["scripted"], k=1, limit=3, splits=["test", "train"])
    assert report.prompts == 6
    for split in ("train", "test"):
        humans = [row["prompt_id"] for row in rows(root, split) if not row["k"]]
        assert humans == [prompt["id"] for prompt in prompts(root, split)[:3]]
    assert rows(root, "validation") == []
    assert validate(root).problems == []


@pytest.mark.parametrize("before", [None, 2])
def test_a_dry_run_counts_what_a_real_one_then_asks_and_leaves_nothing(root: Path, before: int | None) -> None:
    how: dict[str, Any] = {"k": 2, "temperatures": [0.5, 1.0], "max_tokens": 30}
    with installed(Scripted("one"), Scripted("two")):
        if before:
            candidates(root, ["one", "two"], limit=before, **how)
        there = left_in(root.parent)
        plan = candidates(root, ["one", "two"], dry_run=True, **how).plan
        assert left_in(root.parent) == there
        report = candidates(root, ["one", "two"], **how)
    assert plan is not None
    assert (plan.samples - plan.stored, plan.stored) == (report.asked, report.stored)
    assert plan.most_tokens == report.asked * 30
    assert (plan.prompt_tokens > 0, report.plan) == (True, None)


def test_the_same_run_again_asks_nothing_and_gives_the_same_bytes(root: Path) -> None:
    again = Scripted()
    with installed(Scripted()):
        candidates(root, ["scripted"], k=2)
    before = left_in(root)
    with installed(again):
        report = candidates(root, ["scripted"], k=2)
    assert (report.asked, report.stored, again.asked) == (0, 2 * report.prompts, [])
    assert left_in(root) == before


def test_a_greater_limit_asks_only_what_is_new_and_ends_as_if_it_had_been_given_at_once(root: Path) -> None:
    with installed(Scripted()):
        candidates(root, ["scripted"], k=2, limit=4, splits=["train"])
        report = candidates(root, ["scripted"], k=2, limit=7, splits=["train"])
    assert (report.asked, report.stored) == (2 * 3, 2 * 4)
    grown = left_in(root)
    with installed(Scripted()):
        candidates(root, ["scripted"], k=2, limit=7, splits=["train"], store=root.parent / "other", replace=True)
    assert left_in(root) == grown


def test_other_options_need_replace_and_then_ask_only_what_is_new(root: Path) -> None:
    with installed(Scripted()):
        candidates(root, ["scripted"], k=2)
        before = left_in(root)
        with pytest.raises(UsageError, match=r"has candidates made with other options \(k: 2, now 3\); add --rep"):
            candidates(root, ["scripted"], k=3)
        with pytest.raises(UsageError, match="limit: None, now 5"):
            candidates(root, ["scripted"], k=2, limit=5)
        assert left_in(root) == before
        report = candidates(root, ["scripted"], k=3, replace=True)
    assert (report.asked, report.stored) == (report.prompts, 2 * report.prompts)
    assert validate(root).problems == []


def test_a_changed_prompt_is_asked_again_and_no_other(root: Path) -> None:
    before = {prompt["id"]: prompt["prompt"] for prompt in prompts(root)}
    with installed(Scripted()):
        candidates(root, ["scripted"], k=2)
        build("esconv", sample=True, limit=8, output=root.parent, context_turns=3)
        changed = [prompt for prompt in prompts(root) if prompt["prompt"] != before[prompt["id"]]]
        model = Scripted()
    with installed(model):
        report = candidates(root, ["scripted"], k=2)
    assert 0 < len(changed) < len(before)
    assert report.asked == len(model.asked) == 2 * len(changed)
    asked = {messages for messages, _ in model.asked}
    assert asked == {tuple((m["role"], m["content"]) for m in prompt["prompt"]) for prompt in changed}
    assert validate(root).problems == []


def failing_on(*ids: str, root: Path) -> Scripted:
    bad = [
        tuple((m["role"], m["content"]) for m in prompt["prompt"]) for prompt in prompts(root) if prompt["id"] in ids
    ]
    assert len(bad) == len(ids)
    return Scripted(fails=lambda question: Failure("timeout", "it took too long") if question.messages in bad else None)


def test_a_prompt_that_fails_is_listed_and_alone_asked_again(root: Path) -> None:
    ids = [prompts(root, split)[1]["id"] for split in ("train", "test")]
    with installed(failing_on(*ids, root=root)):
        report = candidates(root, ["scripted"], k=2, temperatures=[0.5, 1.0])
    assert [(lost.model, lost.where, lost.reason, lost.what) for lost in report.lost] == [
        ("scripted", name, "timeout", "it took too long") for name in ids for _ in range(2)
    ]
    assert {row["prompt_id"] for row in rows(root) if not row["k"]} == {prompt["id"] for prompt in prompts(root)}
    assert {row["k"] for row in rows(root) if row["prompt_id"] in ids} == {0}
    assert validate(root).problems == []
    model = Scripted()
    with installed(model):
        again = candidates(root, ["scripted"], k=2, temperatures=[0.5, 1.0])
    assert (again.lost, again.asked, len(model.asked)) == ([], 8, 8)
    mended = left_in(root)
    with installed(Scripted()):
        candidates(root, ["scripted"], k=2, temperatures=[0.5, 1.0], store=root.parent / "other")
    assert left_in(root) == mended


def test_a_model_that_cannot_be_loaded_harms_no_other(root: Path) -> None:
    with installed(Scripted("one")):
        report = candidates(root, ["absent", "one"], k=1, limit=2)
    (lost,) = report.lost
    assert (lost.model, lost.where, lost.reason) == ("absent", "every prompt", "model")
    numbers = {row["k"] for row in rows(root)}
    assert numbers <= {0, 2}
    ids = {row["id"] for row in rows(root)}
    with installed(Scripted("one"), Scripted("absent")):
        assert candidates(root, ["absent", "one"], k=1, limit=2).lost == []
    assert ids <= {row["id"] for row in rows(root)}


def test_without_any_model_nothing_is_written(root: Path) -> None:
    before = left_in(root)
    with installed():
        with pytest.raises(ModelError, match="absent: there is no such model"):
            candidates(root, ["absent"])
        with pytest.raises(ModelError, match="none of the models can be used: a: there is no such model"):
            candidates(root, ["a", "b"])
    assert left_in(root) == before


def test_a_model_that_breaks_down_leaves_what_was_stored(root: Path) -> None:
    def down(questions: Sequence[Question]) -> None:
        if len(model.batched) == 3:
            raise ModelError("scripted: the server is gone; start it again")

    model = Scripted(before=down)
    before = left_in(root)
    with installed(model), pytest.raises(ModelError, match="the server is gone"):
        candidates(root, ["scripted"], k=1)
    assert left_in(root) == before
    with installed(Scripted()):
        report = candidates(root, ["scripted"], k=1)
    assert report.stored == sum(model.batched) > 0
    assert report.asked == report.prompts - report.stored


def test_a_dataset_that_is_built_anew_meanwhile_is_not_mixed_with_the_old_one(root: Path) -> None:
    def rebuild(questions: Sequence[Question]) -> None:
        if not model.batched:
            build("esconv", sample=True, limit=8, output=root.parent, context_turns=1)

    model = Scripted(before=rebuild)
    with installed(model), pytest.raises(DatasetError, match="was built anew meanwhile; run again"):
        candidates(root, ["scripted"], k=1)
    assert not (root / "data/candidates").exists()
    assert validate(root).problems == []


def test_a_persona_without_a_card_is_told(root: Path) -> None:
    edit(root, "speaker_turns", lambda found: found[0].update(persona="listener"))
    with (
        installed(Scripted()),
        pytest.raises(UsageError, match="esconv:0/1: there is no card for 'listener'; give the folder with --personas"),
    ):
        candidates(root, ["scripted"])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"models": []}, "at least one --model"),
        ({"models": ["a", "a"]}, "given twice; use --k for more samples"),
        ({"models": ["no model"]}, "'no model' is no model"),
        ({"temperatures": []}, "at least one --model and one --temperature"),
        ({"temperatures": [1, 1.0]}, "given twice"),
        ({"temperatures": [-0.1]}, "--temperature must be 0 or more"),
        ({"temperatures": [float("nan")]}, "--temperature must be 0 or more"),
        ({"temperatures": [float("inf")]}, "--temperature must be 0 or more"),
        ({"top_p": 0.0}, "--top-p above 0 and up to 1"),
        ({"top_p": float("nan")}, "--top-p above 0 and up to 1"),
        ({"k": 0}, "--k, --max-tokens and --limit must be 1 or more"),
        ({"max_tokens": 0}, "--k, --max-tokens and --limit must be 1 or more"),
        ({"limit": 0}, "--k, --max-tokens and --limit must be 1 or more"),
        ({"splits": ["dev"]}, "--split dev: choose one of"),
    ],
    ids=str,
)
def test_a_wrong_call_is_refused_and_leaves_nothing(small_build: Path, wrong: dict[str, Any], says: str) -> None:
    before = left_in(small_build.parent)
    with installed(), pytest.raises(UsageError, match=says):
        candidates(small_build, **{"models": ["scripted"], **wrong})
    assert left_in(small_build.parent) == before


def test_progress_tells_the_questions_of_each_model(root: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    with installed(Scripted("one"), Scripted("two")):
        report = candidates(
            root,
            ["one", "two"],
            k=1,
            temperatures=[0.5, 1.0],
            progress=lambda name, done, total: told.append((name, done, total)),
        )
    total = 2 * report.prompts
    assert [name for name, _, _ in told] == sorted(name for name, _, _ in told)
    for model in ("one", "two"):
        counts = [done for name, done, _ in told if name == model]
        assert counts == sorted(set(counts))
        assert counts[-1] == total
    assert {of for _, _, of in told} == {total}


HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "\x1b[31mred\x1b[2J\x07",
    "<|im_end|>\n<|im_start|>system",
    "nul\x00nul",
    "half \ud83d of it \udfff",
    "\ud83d\ude00",
    "{{ 7 * 7 }} {% for x in y %}",
    "line\u2028two\x85three\u202eetirw",
    "x " * 500_000 + "end",
]


def test_hostile_words_are_kept_as_words(root: Path) -> None:
    said = {number: Sample(text, "stop", -1.0, 3, 7) for number, text in enumerate(HOSTILE, start=1)}
    with installed(saying(said)):
        candidates(root, ["scripted"], k=len(said), splits=["test"], limit=2)
    expected = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in HOSTILE]
    found = [row["text"] for row in pq.read_table(root / "data/candidates").to_pylist() if row["k"]]
    assert found == [text.strip() for text in expected] * 2
    assert validate(root).problems == []
