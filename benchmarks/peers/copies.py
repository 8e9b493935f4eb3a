"""Write a corpus N times over, with ids of its own for every copy, in the layout of the raw release."""

import argparse
import json
import re
from pathlib import Path

from plain import CORPORA, SPLITS, folder

_STEP = 100_000  # above every number in the ids of Empathetic Dialogues
_ID = re.compile(r"^hit:(\d+)_conv:(\d+)")


def main() -> None:
    """Write ``--times`` copies of ``--corpus`` below ``--output``; the first says what the original says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", choices=CORPORA, required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--times", type=int, required=True)
    options = parser.parse_args()
    home, target = folder(options.corpus, options.input), options.output / options.corpus
    target.mkdir(parents=True)
    {"esconv": _esconv, "empathetic-dialogues": _empathetic, "qmsum": _qmsum}[options.corpus](
        home, target, options.times
    )


def _esconv(home: Path, target: Path, times: int) -> None:
    """Repeat the elements of the array; an id is the position in it."""
    elements = (home / "ESConv.json").read_text("utf-8").strip().removeprefix("[").removesuffix("]")
    with (target / "ESConv.json").open("w", encoding="utf-8") as copy:
        for number in range(times):
            copy.write("," if number else "[")
            copy.write(elements)
        copy.write("]")


def _empathetic(home: Path, target: Path, times: int) -> None:
    for _, name in SPLITS:
        with (target / f"{name}.csv").open("w", encoding="utf-8", newline="\n") as copy:
            for number in range(times):
                with (home / f"{name}.csv").open(encoding="utf-8", newline="\n") as lines:
                    header = next(lines)
                    if not number:
                        copy.write(header)
                    copy.writelines(_shifted(line, number * _STEP) for line in lines)


def _shifted(line: str, by: int) -> str:
    return _ID.sub(lambda found: f"hit:{int(found[1]) + by}_conv:{int(found[2]) + by}", line)


def _qmsum(home: Path, target: Path, times: int) -> None:
    suffixes = ["", *(f"-{number}" for number in range(1, times))]
    for path in sorted((home / "data" / "ALL").glob("*/*.json")):
        place = target / path.parent.relative_to(home)
        place.mkdir(parents=True, exist_ok=True)
        meeting = json.loads(path.read_text("utf-8"))
        said = meeting["meeting_transcripts"][0]
        first = said["content"]
        for suffix in suffixes:
            said["content"] = first + suffix  # a meeting is known by the words of its transcript, too
            (place / f"{path.stem}{suffix}.json").write_text(json.dumps(meeting, indent=4), "utf-8")
    listed = (home / "domain_file_list.txt").read_text("utf-8").split()
    names = [name.replace(".json", f"{suffix}.json") for suffix in suffixes for name in listed]
    (target / "domain_file_list.txt").write_text("\n".join(names) + "\n", "utf-8")


if __name__ == "__main__":
    main()
