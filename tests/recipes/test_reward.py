"""TRL's RewardTrainer takes ``preferences`` as they are, and with the gap as ``margin``: real steps, on the CPU."""

from pathlib import Path
from typing import Any

import pytest

from mascot_data.build.run import build
from mascot_data.generate import candidates
from mascot_data.judge.run import judge
from mascot_data.preferences.run import pairs
from tests.judge.test_run import judging
from tests.models.scripted import Scripted, installed
from tests.recipes.conftest import LONGEST

trl: Any = pytest.importorskip("trl", reason="the trainers are not installed: run  pip install 'mascot-data[train]'")

pytestmark = pytest.mark.filterwarnings("ignore:`(is_)?gradient_checkpointing.*` is deprecated:FutureWarning")

MARGIN = 0.1


@pytest.fixture(scope="module")
def preferences(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Pairs of the sample, loaded by the path of the local build as a user would."""
    datasets = pytest.importorskip("datasets")
    folder = tmp_path_factory.mktemp("reward")
    (report,) = build("esconv", sample=True, limit=6, output=folder / "mascot")
    with installed(Scripted()):
        candidates(report.directory, ["scripted"], k=3, splits=["train"])
    with judging(Scripted("one")):
        judge(report.directory, ["one"], splits=["train"])
    pairs(report.directory, margin=MARGIN, splits=["train"])
    return datasets.load_dataset(str(report.directory), "preferences", split="train", cache_dir=str(folder / "cache"))


@pytest.fixture
def reward_model(model: Any) -> Any:
    """Return the tiny model with a head of one number, the reward."""
    transformers = pytest.importorskip("transformers")
    config = type(model.config)(**{**model.config.to_dict(), "num_labels": 1})
    return transformers.LlamaForSequenceClassification(config)


def trained(rows: Any, model: Any, tokenizer: Any, folder: Path, **options: Any) -> Any:
    """Train, and return the trainer; ``max_length`` as the page on formats says, so that nothing is dropped."""
    config = trl.RewardConfig(
        str(folder),
        max_length=LONGEST,
        per_device_train_batch_size=8,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        bf16=False,
        activation_checkpointing=False,
        **options,
    )
    trainer = trl.RewardTrainer(model, config, train_dataset=rows, processing_class=tokenizer)
    trainer.train()
    return trainer


def losses(trainer: Any) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def test_pairs_train_a_reward_model_as_they_are(
    preferences: Any, reward_model: Any, tokenizer: Any, tmp_path: Path
) -> None:
    assert len(preferences) > 8
    some = preferences.select(range(8))
    trainer = trained(some, reward_model, tokenizer, tmp_path, max_steps=12, learning_rate=3e-3)
    first, *_, last = losses(trainer)
    assert last < first / 2
    assert len(trainer.train_dataset) == len(some)
    for row, read in zip(some, trainer.train_dataset, strict=True):
        for side in ("chosen", "rejected"):
            whole = tokenizer.apply_chat_template(row["prompt"] + row[side], tokenize=True, return_dict=False)
            found = next(read[name] for name in (f"{side}_ids", f"{side}_input_ids") if name in read)
            assert list(found)[: len(whole)] == whole


def test_the_gap_as_margin_asks_for_more(preferences: Any, reward_model: Any, tokenizer: Any, tmp_path: Path) -> None:
    still: dict[str, Any] = {"max_steps": 1, "learning_rate": 0.0}
    some = preferences.select(range(8))
    assert min(some["score_gap"]) >= MARGIN
    (plain,) = losses(trained(some, reward_model, tokenizer, tmp_path, **still))
    asked_more = some.rename_column("score_gap", "margin")
    (with_margin,) = losses(trained(asked_more, reward_model, tokenizer, tmp_path, **still))
    assert with_margin > plain
