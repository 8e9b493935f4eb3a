"""TRL's trainers take the configs as they are: real training steps of a tiny random model, on the CPU, offline."""

import copy
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jinja2
import pytest

from mascot_data.build.projection import fit_row
from mascot_data.records import CONFIGS
from tests.pages import FORMATS, code_blocks
from tests.recipes.conftest import LONGEST, Load

trl: Any = pytest.importorskip("trl", reason="the trainers are not installed: run  pip install 'mascot-data[train]'")

# transformers 5.24 renames gradient_checkpointing to activation_checkpointing; inside, TRL 1.16 uses the old names.
pytestmark = pytest.mark.filterwarnings("ignore:`(is_)?gradient_checkpointing.*` is deprecated:FutureWarning")

CORPORA = ("esconv", "empathetic-dialogues", "qmsum")
TRAINED = ("speaker_turns", "director_turns")
TAKEN_BY_TRAINERS = {
    *("margin", "text", "messages", "conversations", "image", "images", "tools", "environment"),
    *("chat_template_kwargs", "input_ids", "attention_mask", "labels", "completion_mask", "assistant_masks"),
    *("completion_ids", "prompts", "completions", "trainer_state", "log_extra", "log_metric", "environments"),
}
"""Column names that change what a TRL trainer does, or clash with an argument of its reward functions."""
TEMPLATES = ("qwen2_5", "qwen3", "llama3", "gemma3", "gemma4", "phi3", "cohere2", "gptoss", "lfm2", "deepseekv3")
"""Chat templates that TRL brings; ``gemma`` besides, which refuses system messages."""
REFUSE_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system message, please') }}{% endif %}"
REFUSE_NEIGHBOURS = (
    "{% for message in messages[1:] %}{% if message['role'] == messages[loop.index0]['role'] %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}{% endfor %}"
)

Row = dict[str, Any]


@pytest.fixture
def sft(model: Any, tokenizer: Any, tmp_path: Path) -> Callable[..., Any]:
    """Make an ``SFTTrainer`` over rows; options go to its config."""

    def trainer(rows: Any, processing_class: Any = tokenizer, **options: Any) -> Any:
        config = trl.SFTConfig(str(tmp_path), **_small(max_length=LONGEST) | options)
        return trl.SFTTrainer(model, config, train_dataset=rows, processing_class=processing_class)

    return trainer


def _small(**options: Any) -> dict[str, Any]:
    quick = {"max_steps": 2, "per_device_train_batch_size": 4, "activation_checkpointing": False, "bf16": False}
    quiet = {"logging_steps": 1, "save_strategy": "no", "report_to": "none", "disable_tqdm": True, "use_cpu": True}
    return quick | quiet | options


def _templated(tokenizer: Any, row: Row) -> tuple[str, str]:
    """Return the text of the prompt up to where the reply begins, and the whole text."""
    prompt = tokenizer.apply_chat_template(row["prompt"], tokenize=False, add_generation_prompt=True)
    return prompt, tokenizer.apply_chat_template(row["prompt"] + row["completion"], tokenize=False)


def _reply(row: Row) -> str:
    return f"{row['completion'][0]['content']}<|im_end|>\n"


def _learned(labels: Any) -> list[int]:
    return [int(label) for label in labels if label != -100]


def _losses(trainer: Any) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def _assert_in_order(parts: list[str], text: str) -> None:
    place = 0
    for part in parts:
        place = text.index(part, place) + len(part)


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("config", TRAINED)
def test_sft_learns_the_whole_reply_and_nothing_else(
    corpus: str, config: str, load: Load, tokenizer: Any, sft: Callable[..., Any]
) -> None:
    rows = load(corpus, config)
    trainer = sft(rows)
    assert len(trainer.train_dataset) == len(rows)
    for row, prepared in zip(rows, trainer.train_dataset, strict=True):
        prompt, whole = _templated(tokenizer, row)
        assert whole == prompt + _reply(row)
        assert tokenizer.decode(prepared["input_ids"]) == whole, "nothing is cut"
        assert tokenizer.decode(_learned(prepared["labels"])) == _reply(row)
    batch = next(iter(trainer.get_train_dataloader()))
    assert {tokenizer.decode(_learned(labels)) for labels in batch["labels"]} <= {_reply(row) for row in rows}
    trainer.train()
    assert len(_losses(trainer)) == 2
    assert all(math.isfinite(loss) and loss > 0 for loss in _losses(trainer))


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("config", TRAINED)
def test_the_templated_prompt_holds_every_line_of_the_context_in_order(
    corpus: str, config: str, load: Load, tokenizer: Any
) -> None:
    turns = {row["id"]: row["turns"] for row in load(corpus, "dialogues")}
    lines = 0
    for row in load(corpus, config):
        prompt, _ = _templated(tokenizer, row)
        shown = turns[row["dialogue_id"]][row["context_cut"] : row["turn_index"]]
        assert len(shown) == row["context_turns"]
        context = [line for turn in shown for line in turn["text"].split("\n")]
        _assert_in_order([row["prompt"][0]["content"], *context], prompt)
        lines += len(context)
    assert lines > 50


def test_rows_over_max_length_are_cut_or_left_out_so_count_them_first(
    load: Load, tokenizer: Any, sft: Callable[..., Any]
) -> None:
    rows = load("qmsum", "speaker_turns")
    texts = [_templated(tokenizer, row) for row in rows]
    prompts, lengths = ([len(ids) for ids in tokenizer(list(side))["input_ids"]] for side in zip(*texts, strict=True))
    limit = sorted(lengths)[len(rows) // 2]
    prepared = sft(rows, max_length=limit).train_dataset
    assert len(prepared) == sum(prompt < limit for prompt in prompts) < len(rows)
    assert max(len(row["input_ids"]) for row in prepared) == limit < max(lengths)
    fitting = rows.select([place for place, length in enumerate(lengths) if length <= limit])
    whole = sft(fitting, max_length=limit).train_dataset
    assert [tokenizer.decode(row["input_ids"]) for row in whole] == [_templated(tokenizer, row)[1] for row in fitting]


@pytest.mark.parametrize("corpus", ["esconv", "qmsum"])
@pytest.mark.parametrize("config", [*TRAINED, "blocks"])
def test_grpo_hands_our_columns_to_the_reward_beside_their_own_prompts(
    corpus: str, config: str, load: Load, model: Any, tokenizer: Any, tmp_path: Path
) -> None:
    rows = load(corpus, config)
    if "completion" in rows.column_names:
        rows = rows.rename_column("completion", "reference")
    by_id = {row["id"]: row for row in rows}
    seen: list[str] = []

    def reward(prompts: list[Any], completions: list[Any], **columns: Any) -> list[float]:
        ours = {name: columns[name] for name in rows.column_names if name != "prompt"} | {"prompt": prompts}
        for place, key in enumerate(columns["id"]):
            assert {name: values[place] for name, values in ours.items()} == by_id[key]
        seen.extend(columns["id"])
        return [float(len(completion[0]["content"])) for completion in completions]

    grpo = trl.GRPOConfig(str(tmp_path), **_small(num_generations=2, max_completion_length=4))
    trainer = trl.GRPOTrainer(model, reward, grpo, train_dataset=rows, processing_class=tokenizer)
    trainer.train()
    assert len(seen) == 8
    assert len(set(seen)) == 4, "two steps of two prompts, each with two replies"
    assert len(_losses(trainer)) == 2
    assert all(map(math.isfinite, _losses(trainer)))


def test_the_reply_of_the_corpus_reaches_the_reward_only_under_another_name(
    load: Load, model: Any, tokenizer: Any, tmp_path: Path
) -> None:
    got: set[str] = set()

    def reward(completions: list[Any], **columns: Any) -> list[float]:
        got.update(columns)
        return [0.0 for _ in completions]

    config = trl.GRPOConfig(str(tmp_path), **_small(max_steps=1, num_generations=2, max_completion_length=2))
    rows = load("esconv", "speaker_turns")
    trl.GRPOTrainer(model, reward, config, train_dataset=rows, processing_class=tokenizer).train()
    assert {"persona", "directive"} <= got
    assert "completion" not in got


def _fitted(messages: list[dict[str, str]], **rules: bool) -> list[dict[str, str]]:
    return fit_row({"prompt": messages}, **rules)["prompt"]


def _with_template(tokenizer: Any, template: str) -> Any:
    other = copy.deepcopy(tokenizer)
    other.chat_template = template
    return other


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("config", TRAINED)
def test_a_template_without_system_messages_takes_fitted_rows(
    corpus: str, config: str, load: Load, tokenizer: Any, sft: Callable[..., Any]
) -> None:
    strict = _with_template(tokenizer, REFUSE_SYSTEM + REFUSE_NEIGHBOURS + tokenizer.chat_template)
    rows = load(corpus, config)
    with pytest.raises(jinja2.TemplateError, match="no system message"):
        sft(rows, strict)
    fitted = rows.map(lambda row: {"prompt": _fitted(row["prompt"], system=False)})
    prepared = sft(fitted, strict).train_dataset
    for row, ready in zip(rows, prepared, strict=True):
        _assert_in_order(_contents(row), strict.decode(ready["input_ids"]))
        assert strict.decode(_learned(ready["labels"])) == _reply(row)


def _contents(row: Row) -> list[str]:
    return [message["content"] for message in row["prompt"] + row["completion"]]


def test_a_template_whose_roles_must_alternate_takes_rows_as_they_are_and_fitted_ones(
    load: Load, tokenizer: Any, sft: Callable[..., Any]
) -> None:
    strict = _with_template(tokenizer, REFUSE_NEIGHBOURS + tokenizer.chat_template)
    rows = load("qmsum", "speaker_turns")
    assert len(sft(rows, strict).train_dataset) == len(rows)
    apart = rows.map(lambda row: {"prompt": list(_a_message_a_line(row["prompt"]))})
    with pytest.raises(jinja2.TemplateError, match="roles must alternate"):
        sft(apart, strict)
    fitted = apart.map(lambda row: {"prompt": _fitted(row["prompt"])})
    assert fitted["prompt"] == rows["prompt"]


def _a_message_a_line(messages: list[dict[str, str]]) -> Iterator[dict[str, str]]:
    for message in messages:
        parts = message["content"].split("\n") if message["role"] == "user" else [message["content"]]
        yield from ({"role": message["role"], "content": part} for part in parts)


@pytest.mark.parametrize("name", [*TEMPLATES, "gemma"])
def test_templates_of_well_known_models_hold_every_message_in_order(name: str, load: Load, tokenizer: Any) -> None:
    path = Path(trl.__file__).parent / "chat_templates" / f"{name}.jinja"
    known = _with_template(tokenizer, path.read_text(encoding="utf-8"))
    for corpus in CORPORA:
        for config in TRAINED:
            for row in load(corpus, config).select(range(10)):
                fitted = row | {"prompt": _fitted(row["prompt"], system=name != "gemma")}
                _assert_in_order(_contents(row), _templated(known, fitted)[1])


def test_a_name_in_a_message_is_ignored(load: Load, sft: Callable[..., Any]) -> None:
    rows = load("esconv", "speaker_turns")
    named = rows.map(lambda row: {"prompt": [message | {"name": "Anchor"} for message in row["prompt"]]})
    assert named[0]["prompt"][0]["name"] == "Anchor"
    assert sft(named).train_dataset["input_ids"] == sft(rows).train_dataset["input_ids"]


@pytest.mark.parametrize("config", CONFIGS)
def test_no_column_has_a_name_that_changes_what_a_trainer_does(config: str, load: Load) -> None:
    assert TAKEN_BY_TRAINERS.isdisjoint(load("esconv", config).column_names)


RECIPES = [code for code in code_blocks(FORMATS, "python") if "from trl import" in code]


@pytest.mark.parametrize("code", RECIPES, ids=range(len(RECIPES)))
def test_the_recipes_of_the_page_train(
    code: str, model: Any, tokenizer: Any, sample_build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    model.save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    (tmp_path / "mascot").symlink_to(sample_build)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    code, models = re.subn("Qwen/Qwen3-0.6B", str(tmp_path / "tiny"), code)
    code, configs = re.subn(r'(Config\("\w+")', r"\1, max_steps=1, use_cpu=True, bf16=False", code)
    assert (models, configs) == (1, 1)
    code = code.replace("max_completion_length=128", "max_completion_length=4")
    names: dict[str, Any] = {}
    exec(compile(code, str(FORMATS), "exec"), names)
    assert names["trainer"].state.global_step == 1
