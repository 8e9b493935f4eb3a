"""All modes with a real model, the small one that comes from PyPI."""

from collections.abc import Iterator, Sequence

import pytest

from mascot_data.errors import ModelError
from mascot_data.generate.modes import MODES
from mascot_data.generate.stage import Heard, Settings, Stage
from mascot_data.generate.talk import Found, hold_all
from mascot_data.models import Ask, ChatModel, Choice, ModelOptions, Sampling, embedded, load_model
from mascot_data.records.dialogue import Source
from tests.generate.scenes import make_scene, rollout
from tests.generate.test_modes import check_turns

for package in ("torch", "transformers", "gguf"):
    pytest.importorskip(package, reason=f"{package} is not installed: pip install 'mascot-data[judge]'")

SHORT = Settings(turns=3, agents_per_turn=1, speaker=Sampling(0.8, 0.95, 6), user=Sampling(0.8, 0.95, 6))
OPENINGS: dict[Source, tuple[Heard, ...] | None] = {
    "esconv": (
        Heard("user", "User", "user", None, "I lost my job last week."),
        Heard("anchor", "Anchor", "agent", "anchor", "That is hard."),
        Heard("user", "User", "user", None, "I do not know how to tell my wife."),
    ),
    "qmsum": None,
}


@pytest.fixture(scope="module")
def model() -> Iterator[ChatModel]:
    try:
        embedded.directory()
    except ModelError as error:
        pytest.skip(str(error))
    with load_model("smollm2-135m", ModelOptions(devices=("cpu",))) as loaded:
        yield loaded


def test_every_mode_ends_with_legal_turns(model: ChatModel) -> None:
    def answer(questions: Sequence[Ask | Choice]) -> list[Found]:
        found: dict[int, Found] = {}
        for batch in model.batches(questions):
            asks = [question for index in batch if isinstance(question := questions[index], Ask)]
            choices = [question for index in batch if isinstance(question := questions[index], Choice)]
            found.update(zip(batch, model.sample(asks) if asks else model.choose(choices), strict=True))
        return [found[index] for index in range(len(questions))]

    scenes = {source: make_scene(source, opening=opening) for source, opening in OPENINGS.items()}
    talks = {f"{mode} {name}": rollout(mode, Stage(scene, SHORT)) for mode in MODES for name, scene in scenes.items()}
    ended = dict(hold_all(talks, {"speaker": answer, "director": answer, "user": answer}))
    assert set(ended) == set(talks)
    for name, stage in ended.items():
        assert isinstance(stage, Stage), (name, stage)
        check_turns(name.split()[0], stage)
        assert all(step.logprob is not None and 0 < step.tokens <= 6 for step in stage.steps)
