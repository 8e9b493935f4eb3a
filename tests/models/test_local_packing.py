"""Choices read as packed trees have the probabilities that they have read one by one."""

import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra for local models is not installed")
pytest.importorskip("transformers", reason="the extra for local models is not installed")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot_data.models import Chances, Choice, ModelOptions
from mascot_data.models import checkpoints as cp
from mascot_data.models.decoding import Engine
from mascot_data.models.packing import Tree, laid_out, packs
from mascot_data.models.parting import Size, branch_tokens, part, shared_tokens, tokens_of
from mascot_data.models.prompting import Parts, Prompts
from tests.models.tiny import make_directory, make_tokenizer

pytestmark = pytest.mark.usefixtures("one_thread")

EQUAL = 2e-5
SEQUENCES = st.lists(st.lists(st.integers(0, 2), max_size=6).map(tuple), max_size=12)


def engine_of(checkpoint: cp.Checkpoint, chunk: int) -> Engine:
    model, tokenizer = checkpoint
    return Engine(model, Prompts(tokenizer, "tiny"), cp.end_tokens(model, tokenizer), chunk)


@pytest.fixture(scope="module")
def small(tiny: Path) -> Any:
    return cp.open_checkpoint(tiny, "tiny", ModelOptions(), "cpu")


@given(SEQUENCES)
def test_a_tree_holds_each_beginning_once_and_sees_only_the_way_from_the_root(sequences: list[tuple[int, ...]]) -> None:
    tree = Tree()
    for sequence in sorted(sequences):
        places = tree.add(sequence)
        assert [tree.tokens[place] for place in places] == list(sequence)
        assert [tree.depths[place] for place in places] == list(range(len(sequence)))
    assert len(tree.tokens) == len({one[:end] for one in sequences for end in range(1, len(one) + 1)})
    for sequence in sorted(sequences):
        *_, last = [-1, *places_of(tree, sequence)]
        seen = [tree.tokens[at] for at in range(last + 1) if last < tree.ends[at]]
        assert seen == list(sequence)


def places_of(tree: Tree, sequence: tuple[int, ...]) -> list[int]:
    """Find a sequence again without the tree's own bookkeeping of paths."""
    found: list[int] = []
    for depth, token in enumerate(sequence):
        start, end = (found[-1] + 1, tree.ends[found[-1]]) if found else (0, len(tree.tokens))
        found.append(next(at for at in range(start, end) if (tree.depths[at], tree.tokens[at]) == (depth, token)))
    return found


def random_choices(draw: random.Random, vocabulary: int, size: int) -> list[Parts]:
    """Trees of random depth: trunks, branches and leaves, with answers of one to three tokens."""

    def tokens(least: int, most: int) -> tuple[int, ...]:
        return tuple(draw.randrange(4, vocabulary) for _ in range(draw.randint(least, most)))

    found = []
    for _ in range(draw.randint(1, 3)):
        trunk = tokens(1, size)
        for _ in range(draw.randint(1, 4)):
            branch = trunk + tokens(0, size // 2)
            for _ in range(draw.randint(1, 3)):
                first = tokens(1, 1)
                answers = (first, first + tokens(1, 2), tokens(1, 3))
                found.append(Parts(branch + tokens(1, 9), answers))
    draw.shuffle(found)
    return found


def logprobs_of(engine: Engine, choices: list[Parts], *, packing: bool) -> list[list[float]]:
    engine.__dict__["packs"] = packing
    answers = engine.choose(choices)
    assert all(isinstance(answer, Chances) for answer in answers)
    return [list(answer.logprobs) for answer in answers if isinstance(answer, Chances)]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("chunk", [16, 512])
def test_random_trees_are_scored_as_one_by_one(small: Any, seed: int, chunk: int) -> None:
    engine = engine_of(small, chunk)
    assert engine.packs
    choices = random_choices(random.Random(seed), 300, 30)
    together = logprobs_of(engine, choices, packing=True)
    alone = [logprobs_of(engine, [choice], packing=False)[0] for choice in choices]
    for found, wanted in zip(together, alone, strict=True):
        assert found == pytest.approx(wanted, abs=EQUAL)


@pytest.mark.parametrize("seed", range(3))
def test_the_embedded_model_scores_random_trees_as_one_by_one(smollm2: Path, seed: int) -> None:
    engine = engine_of(cp.open_checkpoint(smollm2, "smollm2", ModelOptions(dtype="float32"), "cpu"), 512)
    assert engine.packs
    choices = random_choices(random.Random(seed), 40000, 120)[:12]
    together = logprobs_of(engine, choices, packing=True)
    alone = [logprobs_of(engine, [choice], packing=False)[0] for choice in choices]
    # Log-probabilities of random tokens are around -20: what is compared is what scores are made of.
    for found, wanted in zip(together, alone, strict=True):
        assert torch.tensor(found).softmax(0).tolist() == pytest.approx(
            torch.tensor(wanted).softmax(0).tolist(), abs=EQUAL
        )


def test_a_pack_takes_a_pass_for_its_root_and_one_for_its_tree(small: Any) -> None:
    model, tokenizer = small
    engine = engine_of(cp.Checkpoint(model, tokenizer), 512)
    assert engine.packs
    passes = []
    hook = model.register_forward_pre_hook(lambda *_, **kwargs: passes.append(1), with_kwargs=True)
    trunk = tuple(range(10, 100))
    engine.choose([Parts((*trunk, at), ((5, 6), (5, 7), (8,))) for at in range(20)])
    hook.remove()
    assert len(passes) == 2


def test_the_root_of_a_pack_is_read_once_and_kept_for_the_next(small: Any) -> None:
    model, tokenizer = small
    engine = engine_of(cp.Checkpoint(model, tokenizer), 64)
    assert engine.packs
    read = []
    hook = model.register_forward_pre_hook(lambda *_: read.append(_[-1]["input_ids"].numel()), with_kwargs=True)
    trunk = tuple(range(10, 110))
    engine.choose([Parts((*trunk, at, at + 1), ((5,), (6,))) for at in range(10, 150)])
    hook.remove()
    assert sum(read) == len(trunk) + 2 * 140


def test_a_pack_is_filled_with_what_is_alike_and_bounded() -> None:
    trunk = tuple(range(100))
    alike = [Parts((*trunk, at), ((1,), (2,))) for at in range(50)]
    assert [(len(pack.places), pack.root) for pack in packs(alike, 200)] == [(50, 100)]
    assert [(len(pack.places), pack.root) for pack in packs(alike, 20)] == [(20, 100), (20, 100), (10, 100)]
    unlike = [Parts(tuple(range(at, at + 10)), ((1,),)) for at in range(4)]
    assert [(pack.places, pack.root) for pack in packs(unlike, 20)] == [([0, 1], 0), ([2, 3], 0)]
    (long,) = packs([Parts(tuple([9] * 100), ((5,), (6, 7)))], 8)
    assert long == ([0], 99)


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=6).map(tuple), SEQUENCES), max_size=10),
    st.integers(1, 20),
)
def test_packs_take_every_choice_once_and_keep_to_their_bound(
    asked: list[tuple[tuple[int, ...], list[tuple[int, ...]]]], most: int
) -> None:
    choices = [Parts(prompt, tuple(answers)) for prompt, answers in asked]
    found = packs(choices, most)
    assert sorted(place for pack in found for place in pack.places) == list(range(len(choices)))
    for pack in found:
        own = [choices[place] for place in pack.places]
        assert len({parts.common[: pack.root] for parts in own}) == 1
        assert all(pack.root < len(parts.common) for parts in own)
        laid = laid_out(own, pack.root)
        assert len(own) == 1 or len(laid.tree.tokens) <= most
        for parts, steps in zip(own, laid.steps, strict=True):
            assert tuple(tuple(token for _, token in answer) for answer in steps) == parts.answers


@pytest.mark.parametrize(
    ("kind", "settings_of", "takes"),
    [
        ("gpt2", {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}, True),
        ("qwen2", {}, True),
        ("mistral", {"sliding_window": 8}, False),
    ],
)
def test_architectures_are_packed_only_where_it_is_exact(
    tmp_path: Path, kind: str, settings_of: dict[str, Any], takes: bool
) -> None:
    tokenizer = make_tokenizer()
    model, _ = cp.open_checkpoint(
        make_directory(tmp_path / kind, tokenizer, model_type=kind, **settings_of), kind, ModelOptions(), "cpu"
    )
    engine = engine_of(cp.Checkpoint(model, tokenizer), 64)
    assert engine.packs is takes
    choices = random_choices(random.Random(3), 300, 30)
    together = [list(one.logprobs) for one in engine.choose(choices) if isinstance(one, Chances)]
    for found, choice in zip(together, choices, strict=True):
        assert found == pytest.approx(logprobs_of(engine, [choice], packing=False)[0], abs=EQUAL)


def test_a_model_that_ignores_its_mask_is_found_out(small: Any) -> None:
    model, _ = small

    def careless(**inputs: Any) -> Any:
        if inputs["attention_mask"].dim() == 4:
            inputs.pop("attention_mask")
        return forward(**inputs)

    forward = model.forward
    assert engine_of(small, 64).packs
    model.forward = careless
    try:
        assert not engine_of(small, 64).packs
    finally:
        model.forward = forward


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 1), min_size=1, max_size=5).map(tuple), st.integers(0, 4))),
    st.integers(1, 30),
)
@settings(max_examples=60)
def test_batches_of_what_is_packed_are_counted_in_tokens_of_the_tree(
    prompts: list[tuple[tuple[int, ...], int]], budget: int
) -> None:
    sizes = [Size(len(prompt) + 1, 2, prompt, branches) for prompt, branches in prompts]
    batches = part(sizes, budget)
    assert sorted(place for batch in batches for place in batch) == list(range(len(sizes)))
    for batch in batches:
        own = [sizes[place] for place in batch]
        prefixes = {one.prompt[:end] for one in own for end in range(1, len(one.prompt) + 1)}
        assert tokens_of(own) == len(prefixes) + sum(one.branches or 0 for one in own)
        assert len(batch) == 1 or tokens_of(own) <= budget


def test_shared_tokens_and_branches() -> None:
    assert shared_tokens((1, 2, 3), (1, 2, 4)) == 2
    assert shared_tokens((), (1,)) == 0
    assert branch_tokens(Parts((1,), ((5, 6), (5, 7), (8,), ()))) == 1
    assert branch_tokens(Parts((1,), ((5, 6, 7), (5, 6, 8), (9, 1)))) == 3


def test_choices_of_a_loaded_model_are_packed(tiny: Path) -> None:
    from mascot_data.models import load_model

    questions = [Choice((("user", f"Sam: word {word}"),), ("1", "2", "3"), "Score: ") for word in "abcdef"]
    with load_model(str(tiny)) as model:
        assert [sorted(batch) for batch in model.batches(questions)] == [list(range(6))]
        found = model.choose(questions)
    assert all(isinstance(one, Chances) and one.mass is not None and 0 < one.mass < 1 for one in found)
