"""What the build knows of each corpus: names, licences, homes; as data."""

from typing import NamedTuple

from mascot_data.errors import UsageError
from mascot_data.records.dialogue import Source


class Corpus(NamedTuple):
    """A source corpus. ``folders`` are the names its folder may have below an input for all corpora."""

    source: Source
    title: str
    license: str
    home: str
    citation: str
    folders: tuple[str, ...]
    unit: str
    size: int
    expects: str

    @property
    def takes_intents(self) -> bool:
        """Whether the EmpatheticIntents labels are about this corpus."""
        return self.source == "empathetic-dialogues"

    @property
    def directory(self) -> str:
        """Name of its dataset directory, below the organisation's folder."""
        return f"{self.source}-multiagent"


CORPORA: dict[str, Corpus] = {
    "esconv": Corpus(
        "esconv",
        "ESConv",
        "cc-by-nc-4.0",
        "https://github.com/thu-coai/Emotional-Support-Conversation",
        "Liu et al., Towards Emotional Support Dialog Systems, ACL-IJCNLP 2021",
        ("esconv", "ESConv"),
        "conversations",
        1300,
        "ESConv.json, or the Hub's train.txt, valid.txt and test.txt",
    ),
    "empathetic-dialogues": Corpus(
        "empathetic-dialogues",
        "Empathetic Dialogues",
        "cc-by-nc-4.0",
        "https://github.com/facebookresearch/EmpatheticDialogues",
        "Rashkin et al., Towards Empathetic Open-domain Conversation Models, ACL 2019",
        ("empathetic-dialogues", "empathetic_dialogues", "empatheticdialogues"),
        "conversations",
        24850,
        "train.csv, valid.csv and test.csv, or the release's tar.gz",
    ),
    "qmsum": Corpus(
        "qmsum",
        "QMSum",
        "mit",
        "https://github.com/Yale-LILY/QMSum",
        "Zhong et al., QMSum: A New Benchmark for Query-based Multi-domain Meeting Summarization, NAACL-HLT 2021",
        ("qmsum", "QMSum"),
        "meetings",
        232,
        "meetings as <split>/<meeting>.json, or train.jsonl, val.jsonl and test.jsonl",
    ),
}


def corpora(source: str) -> list[Corpus]:
    """Return the corpora that ``--source`` names; ``all`` names the three.

    Raises:
        UsageError: there is no such corpus.
    """
    if source == "all":
        return list(CORPORA.values())
    if source not in CORPORA:
        raise UsageError(f"--source {source}: there is no such corpus; choose one of {', '.join(CORPORA)} or all")
    return [CORPORA[source]]
