"""A language model so small that a trainer's step takes a second: random weights, a tokenizer of the sample's text."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|pad|>"]
LONGEST = 4096
"""Positions of the tiny model; also the ``max_length`` that the page on formats gives to the trainers."""

Load = Callable[[str, str], Any]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test in which a library looks for a host, even if the library would go on without it."""
    asked: list[object] = []

    def refuse(host: object, *_: object, **__: object) -> None:
        asked.append(host)
        raise socket.gaierror(f"{host!r}: these tests are without network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY", True)  # TRL sends some at each training
    yield
    assert asked == []


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Compute in one thread: for so small a model, sharing the work out costs more than the work."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def load(sample_build: Path, tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Load the training rows of a corpus and config, as a user would, by the path of the local build."""
    datasets = pytest.importorskip("datasets")
    cache = str(tmp_path_factory.mktemp("cache"))

    def rows(corpus: str, config: str) -> Any:
        path = str(sample_build / f"{corpus}-multiagent")
        return datasets.load_dataset(path, config, split="train", cache_dir=cache)

    return rows


@pytest.fixture(scope="session")
def tokenizer(load: Load) -> Any:
    """Byte-level BPE with 2,048 entries over the sample's own text, and a template in the manner of ChatML."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = byte_level(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=2048, special_tokens=SPECIAL, initial_alphabet=byte_level.alphabet(), show_progress=False
    )
    texts = [message["content"] for prompt in load("esconv", "speaker_turns")["prompt"] for message in prompt]
    bpe.train_from_iterator(texts, trainer)
    begin, end, pad = SPECIAL
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token=begin, eos_token=end, pad_token=pad, model_max_length=LONGEST
    )
    made.chat_template = CHATML
    return made


@pytest.fixture
def model(tokenizer: Any) -> Any:
    """Two layers of width 64 with random weights."""
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=LONGEST,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    return transformers.LlamaForCausalLM(config)
