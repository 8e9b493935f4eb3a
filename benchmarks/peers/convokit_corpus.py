"""ConvoKit: one ``Corpus`` a corpus with the labels as metadata, dumped to a folder."""

import os
from collections.abc import Iterator
from pathlib import Path

from convokit import Corpus, Speaker, Utterance
from plain import Row, arguments, rows, summary


def main() -> None:
    """Convert the corpora that the command line names."""
    corpora, sources, output = arguments()
    os.environ["HOME"] = str(output)  # ConvoKit writes a settings file into the home folder
    dialogues = utterances = 0
    for corpus in corpora:
        built = _build(corpus, sources)
        built.dump(corpus, base_path=str(output))
        dialogues += len(built.conversations)
        utterances += len(built.utterances)
    summary("convokit", dialogues, utterances)


def _build(corpus: str, sources: Path) -> Corpus:
    speakers: dict[str, Speaker] = {}
    labels: dict[str, Row] = {}
    said: list[Utterance] = []
    for row in rows(corpus, sources):
        said.extend(_utterances(row, speakers))
        labels[f"{row['id']}:0"] = _labels(row)
    built = Corpus(utterances=said)
    for conversation in built.iter_conversations():
        conversation.meta.update(labels[conversation.id])
    return built


def _labels(row: Row) -> Row:
    """Keep what this dialogue has: a person would give ConvoKit no empty metadata, and each entry costs it time."""
    scores = {name: score for name, score in row["scores"].items() if score is not None}
    kept = {name: value for name, value in row.items() if name not in ("id", "turns", "scores") and value is not None}
    return kept | ({"scores": scores} if scores else {})


def _utterances(row: Row, speakers: dict[str, Speaker]) -> Iterator[Utterance]:
    for number, turn in enumerate(row["turns"]):
        name = turn["speaker"]
        if name not in speakers:
            speakers[name] = Speaker(id=name)
        yield Utterance(
            id=f"{row['id']}:{number}",
            speaker=speakers[name],
            conversation_id=f"{row['id']}:0",
            reply_to=f"{row['id']}:{number - 1}" if number else None,
            text=turn["text"],
            meta={"label": turn["label"]} if turn["label"] else None,
        )


if __name__ == "__main__":
    main()
