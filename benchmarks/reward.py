"""What a small reward model learns from real ``preferences``: TRL's RewardTrainer, as is or with the gap as margin.

    python benchmarks/reward.py --dataset mascot/esconv-multiagent --layers 6

The model is the first layers of smollm2-135m with a new head, of which the last ones train, on the CPU. Accuracy is
the share of the test pairs whose chosen reply has the higher reward, with a 95% interval by bootstrap over dialogues.
Beside it stand two answers that need no training: chance (a pair has no majority side), and the longer reply wins.
"""

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from trl import RewardConfig, RewardTrainer

from mascot_data.models.embedded import directory

RESAMPLES = 1000


def interval(hits: list[tuple[str, float]], seed: int) -> tuple[float, float, float]:
    """Return the mean of hits with its 95% interval, dialogues being drawn as a whole."""
    by_dialogue: dict[str, list[float]] = {}
    for dialogue, hit in hits:
        by_dialogue.setdefault(dialogue, []).append(hit)
    drawn, groups = random.Random(seed), list(by_dialogue.values())
    means = sorted(
        fmean(hit for group in drawn.choices(groups, k=len(groups)) for hit in group) for _ in range(RESAMPLES)
    )
    return fmean(hit for _, hit in hits), means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]


def small_model(layers: int, trained: int) -> tuple[Any, Any]:
    """Return the first layers of the embedded model with a head of one number, and its tokenizer.

    Only the last ones train.
    """
    path = directory()
    tokenizer = AutoTokenizer.from_pretrained(path)
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(path, num_labels=1, dtype=torch.float32)
    model.model.layers = model.model.layers[:layers]
    model.config.num_hidden_layers = layers
    for part in (model.model.embed_tokens, *model.model.layers[: layers - trained]):
        part.requires_grad_(False)
    model.config.pad_token_id = tokenizer.pad_token_id
    return model, tokenizer


def rewards(model: Any, tokenizer: Any, rows: Any, side: str) -> list[float]:
    """Return the reward of one side of every pair."""
    model.eval()
    found = []
    for row in rows:
        ids = tokenizer.apply_chat_template(row["prompt"] + row[side], return_tensors="pt", return_dict=False)
        with torch.inference_mode():
            found.append(float(model(input_ids=ids).logits[0, 0]))
    return found


def main() -> None:
    """Train and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, required=True, help="directory with preferences in train and test")
    parser.add_argument("--layers", type=int, default=6, help="layers of smollm2-135m that are kept")
    parser.add_argument("--trained", type=int, default=2, help="how many of them, the last ones, are trained")
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--pairs", type=int, help="only so many training and test pairs, drawn")
    parser.add_argument("--max-length", type=int, default=4096, help="longer pairs are dropped by the trainer")
    parser.add_argument("--margin", action="store_true", help="the gap of the scores as margin")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    options = parser.parse_args()
    parts = {split: load_dataset(str(options.dataset), "preferences", split=split) for split in ("train", "test")}
    if options.pairs:
        parts = {
            split: rows.shuffle(seed=options.seed).select(range(min(options.pairs, len(rows))))
            for split, rows in parts.items()
        }
    train, test = parts["train"], parts["test"]
    model, tokenizer = small_model(options.layers, options.trained)
    with tempfile.TemporaryDirectory() as folder:
        config = RewardConfig(
            folder,
            max_length=options.max_length,
            num_train_epochs=options.epochs,
            per_device_train_batch_size=2,
            gradient_accumulation_steps=4,
            learning_rate=2e-4,
            warmup_steps=5,
            logging_steps=5,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
            bf16=False,
            seed=options.seed,
        )
        rows = train.rename_column("score_gap", "margin") if options.margin else train
        began = time.perf_counter()
        trainer = RewardTrainer(model, config, train_dataset=rows, processing_class=tokenizer)
        kept = len(trainer.train_dataset)
        trainer.train()
        seconds = time.perf_counter() - began
    chosen, rejected = (rewards(model, tokenizer, test, side) for side in ("chosen", "rejected"))
    lengths = [[len(row[side][0]["content"]) for side in ("chosen", "rejected")] for row in test]
    sides = {
        "reward model": list(zip(chosen, rejected, strict=True)),
        "longer wins": [(float(a), float(b)) for a, b in lengths],
    }
    figures: dict[str, Any] = {
        "train": len(train),
        "kept": kept,
        "test": len(test),
        "layers": options.layers,
        "trained": options.trained,
        "epochs": options.epochs,
        "margin": options.margin,
        "seconds": round(seconds),
        "loss": [entry["loss"] for entry in trainer.state.log_history if "loss" in entry],
    }
    print(f"{len(train)} training pairs, {kept} kept by the trainer; {len(test)} test pairs; {seconds:.0f} s")
    for name, pairs in sides.items():
        hits = [
            (row["dialogue_id"], 1.0 if a > b else 0.5 if a == b else 0.0)
            for row, (a, b) in zip(test, pairs, strict=True)
        ]
        figures[name] = interval(hits, options.seed)
        mean, low, high = figures[name]
        print(f"{name:<13} {mean:.3f} [{low:.3f}, {high:.3f}]   chance 0.500")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
