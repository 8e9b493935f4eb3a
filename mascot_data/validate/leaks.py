"""What is in two splits: dialogues and meetings never may be; shared texts and worker pairs need a flag."""

from collections.abc import Iterator

from mascot_data.build.pipeline import short_digest
from mascot_data.records import Dialogue

_HASHED = ("situation", "annotations")


class Leaks:
    """Collects keys of the rows by split; ``problems`` tells which are in two without the rows saying so."""

    def __init__(self) -> None:
        self._ids: dict[str, tuple[str, str]] = {}
        self._seen: dict[tuple[str, str], set[str]] = {}
        self._undeclared: dict[tuple[str, str], str] = {}
        self._doubles: list[tuple[str, str]] = []

    def add(self, where: str, split: str, row: Dialogue) -> None:
        """Enter a row."""
        if row.id in self._ids:
            first, its_split = self._ids[row.id]
            across = f"{its_split} and {split}" if its_split != split else split
            self._doubles.append((f"{where} ({row.id})", f"the dialogue is there twice, also at {first} ({across})"))
        self._ids.setdefault(row.id, (where, split))
        for kind, key, flag in _keys(row):
            self._seen.setdefault((kind, key), set()).add(split)
            if flag is None or flag not in row.flags:
                self._undeclared.setdefault((kind, key), f"{where} ({row.id})")

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield the doubles, and what is in two splits without a flag."""
        yield from self._doubles
        for (kind, key), splits in self._seen.items():
            if len(splits) > 1 and (kind, key) in self._undeclared:
                shown = "" if kind in _HASHED else f" {key}"
                yield (
                    self._undeclared[kind, key],
                    f"{kind}{shown} is in {' and '.join(sorted(splits))}, and no flag says so",
                )


def _keys(row: Dialogue) -> Iterator[tuple[str, str, str | None]]:
    """Yield kind and key of what must not be in two splits, and the flag that declares it (None: it never may be)."""
    if row.source == "qmsum":
        yield "meeting", row.source_id.rpartition("#")[0], None
        for asked, answer in zip(row.turns, row.turns[1:], strict=False):
            if asked.source_query is not None and asked.source_query == answer.source_query:
                digest = short_digest(f"{asked.text.strip()}\t{answer.text.strip()}")
                yield "annotations", digest, "annotations-in-two-splits"
        return
    if row.source == "empathetic-dialogues":
        yield "pair", row.source_id.partition("_")[0], "pair-in-two-splits"
    yield "situation", short_digest(row.scenario.situation or ""), "situation-in-two-splits"
