"""Model directories for tests, made from code: random weights of two narrow layers, tokenizers of three kinds."""

from pathlib import Path
from typing import Any

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
STRICT = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system message') }}{% endif %}"
    "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}"
    "<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}{{ '<|im_start|>assistant\n' }}"
)
BEGIN, END, PAD = SPECIAL = ["<|im_start|>", "<|im_end|>", "<|pad|>"]
TEXTS = [
    "You are Anchor, who names feelings. You are Guide, who suggests a next step.",
    'Sam: I cannot sleep and I lie awake.\nAnchor: That sounds exhausting. {"agent": "Anchor", "action": "reflect"}',
    "Kim: I failed the exam. What would you do first? Catalyst, Beacon, Critic, Scribe, user, assistant, system.",
]
KINDS = ("byte-level", "metaspace", "byte-level with a space in front")
CONTEXT = 256


def make_tokenizer(kind: str = "byte-level") -> Any:
    """Train a small tokenizer; the second kind works as SentencePiece does, with a space before the first word."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    byte_level = kind != "metaspace"
    bpe = Tokenizer(models.BPE(unk_token=None if byte_level else PAD))
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    if byte_level:
        bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=kind != KINDS[0])
        bpe.decoder = decoders.ByteLevel()
    else:
        alphabet = [*map(chr, range(32, 127)), "▁", "\n"]
        bpe.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
        bpe.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator(TEXTS * 3, trainer)
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token=BEGIN, eos_token=END, pad_token=PAD, model_max_length=CONTEXT
    )
    made.chat_template = CHATML
    return made


def make_directory(directory: Path, tokenizer: Any | None = None, template: str | None = CHATML, **config: Any) -> Path:
    """Save a model of the Llama type with random weights that do depend on the prompt, and its tokenizer."""
    import torch
    import transformers

    tokenizer = tokenizer or make_tokenizer()
    settings = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": CONTEXT,
        "initializer_range": 0.4,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    } | config
    kind = settings.pop("model_type", "llama")
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(kind, **settings))
    model.save_pretrained(directory)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(directory)
    return directory
