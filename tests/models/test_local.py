"""Local models: what they answer, beside what transformers itself computes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the extra for local models is not installed")
pytest.importorskip("transformers", reason="the extra for local models is not installed")

import torch
import transformers

from mascot_data.models import Ask, Chances, ChatModel, Choice, Failure, ModelOptions, Sample, Sampling, load_model
from tests.models.tiny import CONTEXT, make_directory, make_tokenizer

pytestmark = pytest.mark.usefixtures("one_thread")

ROOM = (
    ("system", "You are Anchor, who names feelings."),
    ("user", "Sam: I cannot sleep and I lie awake."),
    ("assistant", "That sounds exhausting."),
    ("user", "Sam: It is. What would you do first?"),
)
SHORT = (("user", "Kim: I failed the exam."),)
CARD = (("system", "You are Anchor, who names feelings."), ("user", "Kim: I failed."))
PROMPTS = (ROOM, SHORT, CARD, ROOM[:2], (("user", "Hi"),))
GREEDY = Sampling(temperature=0.0, max_tokens=12)


@pytest.fixture(scope="module")
def model(tiny: Path) -> Iterator[ChatModel]:
    with load_model(str(tiny)) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def oracle(tiny: Path) -> tuple[Any, Any]:
    """The same model and tokenizer, used by transformers alone."""
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tiny).eval()
    return loaded, transformers.AutoTokenizer.from_pretrained(tiny)


def samples(answer: list[Sample] | Failure) -> list[Sample]:
    assert isinstance(answer, list)
    return answer


def assert_same(found: Sequence[Sample], wanted: Sequence[Sample]) -> None:
    """Equal but for the last digits of the log-probabilities."""
    assert [each._replace(logprob=None) for each in found] == [each._replace(logprob=None) for each in wanted]
    assert [each.logprob for each in found] == pytest.approx([each.logprob for each in wanted], abs=1e-3)


def encoded(tokenizer: Any, messages: Sequence[tuple[str, str]]) -> list[int]:
    chat = [{"role": role, "content": content} for role, content in messages]
    found: list[int] = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
    return found


def logprobs_of(model: Any, prompt: Sequence[int], following: Sequence[int]) -> float:
    """Sum of log-probabilities of tokens after a prompt, in one pass without a cache."""
    with torch.inference_mode():
        logits = model(torch.tensor([[*prompt, *following]])).logits[0].log_softmax(-1)
    return sum(float(logits[len(prompt) + place - 1, token]) for place, token in enumerate(following))


def test_the_model_says_what_it_is(model: ChatModel, tiny: Path) -> None:
    assert model.info.name == tiny.name
    assert model.info.backend == "transformers"
    assert model.info.dtype == "float32"
    assert len(model.info.revision) >= 16
    assert model.context_tokens == CONTEXT


def test_without_temperature_it_says_what_generate_says(model: ChatModel, oracle: tuple[Any, Any]) -> None:
    reference, tokenizer = oracle
    answers = model.sample([Ask(messages, GREEDY, (1, 2)) for messages in PROMPTS])
    for messages, answer in zip(PROMPTS, answers, strict=True):
        prompt = encoded(tokenizer, messages)
        said = reference.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=12)[0, len(prompt) :].tolist()
        first, second = samples(answer)
        assert first == second
        assert first.text == tokenizer.decode(said, skip_special_tokens=True)
        assert first.tokens == len(said)
        assert first.prompt_tokens == len(prompt)
        assert first.finish_reason == ("stop" if said[-1] == tokenizer.eos_token_id else "length")
        assert first.logprob == pytest.approx(logprobs_of(reference, prompt, said), abs=1e-3)


@settings(max_examples=12)
@given(data=st.data())
def test_a_sample_depends_on_its_own_question_alone(model: ChatModel, data: st.DataObject) -> None:
    asks = data.draw(
        st.lists(
            st.builds(
                Ask,
                st.sampled_from(PROMPTS),
                st.builds(
                    Sampling, st.sampled_from([0.0, 0.7, 1.3]), st.sampled_from([0.4, 0.9, 1.0]), st.integers(1, 9)
                ),
                st.lists(st.integers(0, 2**63), min_size=1, max_size=3).map(tuple),
                st.sampled_from(["", 'I think "', "{"]),
            ),
            min_size=2,
            max_size=6,
        )
    )
    alone = [samples(model.sample([ask._replace(seeds=(seed,))])[0])[0] for ask in asks for seed in ask.seeds]
    together = [sample for answer in model.sample(asks) for sample in samples(answer)]
    assert_same(together, alone)


def test_other_seeds_give_other_samples_and_the_same_seed_the_same(model: ChatModel) -> None:
    sampling = Sampling(temperature=1.0, max_tokens=10)
    (found,) = model.sample([Ask(ROOM, sampling, (5, 6, 7, 5))])
    one, two, three, again = samples(found)
    assert len({one.text, two.text, three.text}) == 3
    assert one == again


def test_a_sample_has_the_log_probability_of_its_tokens_at_temperature_1(
    model: ChatModel, oracle: tuple[Any, Any]
) -> None:
    reference, tokenizer = oracle
    prompt = encoded(tokenizer, ROOM)
    (found,) = model.sample([Ask(ROOM, Sampling(temperature=2.0, top_p=0.8, max_tokens=1), tuple(range(40)))])
    with torch.inference_mode():
        logprobs = reference(torch.tensor([prompt])).logits[0, -1].log_softmax(-1)
    known = [float(value) for value in logprobs]
    for sample in samples(found):
        assert min(abs(sample.logprob - value) for value in known if sample.logprob is not None) < 1e-4


OTHERS: dict[str, dict[str, Any]] = {
    "qwen3": {"head_dim": 8},
    "mistral": {"head_dim": 8, "sliding_window": 16},
    "gemma2": {"head_dim": 8, "sliding_window": 16},
    "lfm2": {"layer_types": ["conv", "full_attention"], "full_attn_idxs": [1]},
}


@pytest.mark.parametrize("model_type", OTHERS)
def test_other_architectures_give_the_same_alone_and_together(tmp_path: Path, model_type: str) -> None:
    """Among them such as attend only to a window, which is narrower than these prompts, or keep a state instead."""
    directory = make_directory(tmp_path / model_type, model_type=model_type, **OTHERS[model_type])
    with load_model(str(directory)) as model:
        asks = [Ask(messages, Sampling(max_tokens=8), (1, 2)) for messages in PROMPTS]
        alone = [sample for ask in asks for sample in samples(model.sample([ask])[0])]
        assert_same([sample for answer in model.sample(asks) for sample in samples(answer)], alone)


def test_a_stop_string_ends_a_sample_and_is_not_part_of_it(model: ChatModel) -> None:
    (free,) = model.sample([Ask(ROOM, Sampling(max_tokens=30), (11,))])
    text = samples(free)[0].text
    for start in range(3, len(text) - 4, 3):
        stop = text[start : start + 4]
        stops = ("never said", stop)
        (found,) = model.sample([Ask(ROOM, Sampling(max_tokens=30, stop=stops), (11,))])
        (sample,) = samples(found)
        assert sample.text == text[: text.find(stop)]
        assert sample.finish_reason == "stop"
        assert 0 < sample.tokens <= 30


def test_samples_go_on_from_a_prefix(model: ChatModel, oracle: tuple[Any, Any]) -> None:
    reference, tokenizer = oracle
    prefix = 'I think "'
    (found,) = model.sample([Ask(ROOM, GREEDY, (1,), prefix)])
    (sample,) = samples(found)
    prompt = encoded(tokenizer, ROOM) + tokenizer.encode(prefix, add_special_tokens=False)
    said = reference.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=12)[0, len(prompt) :].tolist()
    assert sample.text == tokenizer.decode(said, skip_special_tokens=True)
    assert sample.prompt_tokens == len(prompt) == model.count_tokens(ROOM, prefix)


def test_every_end_of_turn_token_ends_a_sample(tiny: Path, tmp_path: Path) -> None:
    tokenizer = make_tokenizer()
    every = list(range(0, len(tokenizer), 2))
    directory = make_directory(tmp_path / "model", tokenizer, eos_token_id=every)
    with load_model(str(directory)) as model:
        (found,) = model.sample([Ask(ROOM, Sampling(max_tokens=40), tuple(range(12)))])
        for sample in samples(found):
            assert sample.finish_reason == "stop"
            assert not set(tokenizer.encode(sample.text)) & set(every) or sample.tokens < 40


def test_no_seeds_and_no_tokens_are_answers_too(model: ChatModel) -> None:
    none, empty = model.sample([Ask(ROOM, GREEDY, ()), Ask(ROOM, Sampling(max_tokens=0), (1,))])
    assert none == []
    (sample,) = samples(empty)
    assert (sample.text, sample.finish_reason, sample.logprob, sample.tokens) == ("", "length", 0.0, 0)


def test_answers_are_as_likely_as_a_pass_over_the_whole_text_says(model: ChatModel, oracle: tuple[Any, Any]) -> None:
    reference, tokenizer = oracle
    answers = ("Anchor", "Guide", "An", "Beacon and Critic")
    choices = [Choice(messages, answers, '{"agent": "', '"') for messages in PROMPTS]
    for messages, found in zip(PROMPTS, model.choose(choices), strict=True):
        assert isinstance(found, Chances)
        prompt = encoded(tokenizer, messages) + tokenizer.encode('{"agent": "', add_special_tokens=False)
        wanted = [
            logprobs_of(reference, prompt, tokenizer.encode(f'{answer}"', add_special_tokens=False))
            for answer in answers
        ]
        assert found.logprobs == pytest.approx(wanted, abs=1e-3)
        assert found.mass == pytest.approx(sum(torch.tensor(wanted).exp().tolist()), rel=1e-3)
        assert found.prompt_tokens == len(prompt)


def test_all_continuations_together_have_the_whole_mass(tmp_path: Path) -> None:
    """Over a vocabulary of single letters the answers of one letter are all there is."""
    tokenizer = make_tokenizer()
    with load_model(str(make_directory(tmp_path / "model", tokenizer))) as model:
        letters = [tokenizer.decode([token]) for token in range(len(tokenizer))]
        single = tuple({letter for letter in letters if len(tokenizer.encode(letter)) == 1 and "�" not in letter})
        (found,) = model.choose([Choice(ROOM, single)])
        assert isinstance(found, Chances)
        assert found.mass == pytest.approx(sum(torch.tensor(found.logprobs).exp().tolist()))
        assert found.mass is not None
        assert 0.2 < found.mass <= 1.0


def test_an_answer_that_goes_on_after_another_one_adds_no_mass(model: ChatModel) -> None:
    both, one = model.choose([Choice(ROOM, ("Anchor", "Anchor sounds", "Anchor")), Choice(ROOM, ("Anchor",))])
    assert isinstance(both, Chances)
    assert isinstance(one, Chances)
    assert both.mass == pytest.approx(one.mass)
    assert both.logprobs[0] == pytest.approx(both.logprobs[2]) == pytest.approx(one.logprobs[0])
    assert both.logprobs[1] < both.logprobs[0]


def test_batches_hold_every_question_once_and_never_both_kinds(model: ChatModel) -> None:
    questions: list[Ask | Choice] = []
    for number in range(40):
        messages = PROMPTS[number % len(PROMPTS)]
        questions.append(Ask(messages, GREEDY, (1, 2)) if number % 3 else Choice(messages, ("a", "b"), str(number)))
    batches = model.batches(questions)
    assert sorted(place for batch in batches for place in batch) == list(range(40))
    assert all(len({type(questions[place]) for place in batch}) == 1 for batch in batches)
    assert batches == model.batches(list(questions))
    assert model.batches([]) == []


def test_batches_keep_within_their_tokens(tiny: Path) -> None:
    with load_model(str(tiny), ModelOptions(batch_tokens=400)) as model:
        asks = [Ask((("user", "word " * (number % 17)),), GREEDY, (1, 2)) for number in range(30)]
        batches = model.batches(asks)
        sizes = [
            (max(model.count_tokens(asks[place].messages) + 12 for place in batch) * 2 * len(batch))
            for batch in batches
        ]
        assert all(size <= 400 or len(batch) == 1 for size, batch in zip(sizes, batches, strict=True))
        assert sizes[0] == max(sizes)
        assert len(batches) < 30


def test_what_was_used_is_counted(tiny: Path) -> None:
    with load_model(str(tiny)) as model:
        (answer,) = model.sample([Ask(ROOM, GREEDY, (1, 2, 3))])
        model.choose([Choice(SHORT, ("a", "b"))])
        used = model.usage
        assert used.requests == 2
        assert used.prompt_tokens == model.count_tokens(ROOM) + model.count_tokens(SHORT)
        assert used.completion_tokens == sum(sample.tokens for sample in samples(answer))
        assert used.cost == 0.0


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_chosen_dtype_is_used_and_told(tiny: Path, dtype: str) -> None:
    with load_model(str(tiny), ModelOptions(dtype=dtype)) as model:
        assert model.info.dtype == dtype
        (answer,) = model.sample([Ask(SHORT, GREEDY, (1,))])
        assert samples(answer)[0].tokens > 0


def test_the_embedded_model_names_feelings(smollm2: Path) -> None:
    """What it answers makes sense: the weights and the template are as they were trained."""
    with load_model("smollm2-135m") as model:
        assert model.info.name == "smollm2-135m"
        assert model.info.dtype == "float32"
        (answer,) = model.sample([Ask((("user", "What is the capital of France?"),), GREEDY, (1,))])
        assert "Paris" in samples(answer)[0].text
        question = (("user", "Is the sky blue or green? Answer with one word."),)
        (chances,) = model.choose([Choice(question, ("Blue", "Purple", "Seven"))])
        assert isinstance(chances, Chances)
        assert chances.logprobs[0] == max(chances.logprobs)
