"""How models are run; one value for all backends, each reads what concerns it."""

from dataclasses import dataclass
from pathlib import Path

from mascot_data.errors import UsageError


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How models are run.

    Attributes:
        dtype: Of local weights and of vLLM's: ``auto`` (float32 on a CPU, bfloat16 on a GPU), ``float32``,
            ``bfloat16``, ``float16``.
        devices: Where a local model runs, one process each beyond the first; empty: all GPUs, else the CPU.
        batch_tokens: Most tokens (prompt and answer) in one local batch; None: by the device.
        chat_template: A Jinja chat template for a model that has none.
        concurrency: Requests under way at once on a server.
        requests_per_minute: Most requests begun in a minute on a server; None: no bound.
        timeout: Seconds that one request may take.
        attempts: How often a request is made before it counts as failed; only errors that can pass are repeated.
        prices: Price of a million prompt tokens and of a million completion tokens, in any one currency; None: free.
        max_cost: Stop asking a server once so much was spent; needs ``prices``.
        batch_api: Send requests through the vendor's Batch API: cheaper, within 24 hours; ``prices`` are then its own.
        state_folder: Where the Batch API's batches are kept note of, so that a run that was killed finds them again;
            None: nowhere.
    """

    dtype: str = "auto"
    devices: tuple[str, ...] = ()
    batch_tokens: int | None = None
    chat_template: str | None = None
    concurrency: int = 16
    requests_per_minute: int | None = None
    timeout: float = 120.0
    attempts: int = 6
    prices: tuple[float, float] | None = None
    max_cost: float | None = None
    batch_api: bool = False
    state_folder: Path | None = None

    def __post_init__(self) -> None:
        if self.dtype not in ("auto", "float32", "bfloat16", "float16"):
            raise UsageError(f"--dtype {self.dtype}: choose auto, float32, bfloat16 or float16")
        for name in ("batch_tokens", "concurrency", "requests_per_minute", "timeout", "attempts"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise UsageError(f"--{name.replace('_', '-')} must be more than 0")
        if self.max_cost is not None and self.prices is None:
            raise UsageError("--max-cost needs --prices, the price of a million prompt and completion tokens")
