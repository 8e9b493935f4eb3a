"""Readable text from speech transcripts, and one name for each person of a meeting.

The transcripts of QMSum come in three hands: tokenised (``we 're on . {disfmarker} Mm - hmm .``), half tokenised with
spelled letters (``it's a T_V_ remote .``), and ordinary prose with stage directions (``Thank you. [Laughter.]``).
Cleaning takes out noise marks and joins what a tokeniser split; the letters and digits of the words stay as they are.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from mascot_data.build.tables import table

_TABLE: dict[str, Any] = table("speech")


def _any(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in words)


# Where it can, a pattern starts with fixed characters and then looks back: the search skips most of the text.
_WORD = re.compile(r"[^\W_]")
_MARKS = tuple("?!.;:,")  # strongest first
_SIGN = re.compile(r"""[{\[@_"'.,?!;:-](?:(?<=[{\[@_"])|(?<= .)|(?<= n')|(?<=\A[.,?!;:]))""")
_BRACES = tuple(f" {{{word}}} " for word in _TABLE["noise-braces"])
_NOISE = re.compile(
    rf"\{{(?:{_any(_TABLE['noise-braces'])})\}}"
    rf"|\[(?i:{_any(_TABLE['noise-brackets'])})[.!?]?\]"
    r"|@(?<!\S@)(?: ?@)+(?![^\s.,?!;:])"
)
_RUN = re.compile(r"[.,?!;:](?: (?:[.,?!;:]|\.\.)(?= |\Z))+")
_BEFORE_MARK = re.compile(r" (?=[.,?!;:](?: |\Z))")
_LEADING = re.compile(r"\A(?:(?:[.,?!;:]|\.\.)(?: |\Z))+")
_SPACED = re.compile(r" [.,?!](?: |$)|\{")
_ATTACHED = re.compile(r"[.,?!;:](?<=\w.)(?: |$)")
_QUOTE = re.compile(r' ?"( ?)')
_PLURAL = re.compile(r"s\b")
_APOSTROPHE = re.compile(rf" '(?<=\w ')(?: (?=(?:{_any(_TABLE['after-apostrophe'])})\b)|(?=[ .,?!;:]|$))")
_HYPHEN = re.compile(r' -(?<=[\w"] -)(?: (?=[\w"])|(?=[ .,?!;:]|$))')
_CLITIC = re.compile(rf" '(?<=[\w\"] ')(?=(?:{_any(_TABLE['clitics'])})(?![\w']))")
_NEGATION = re.compile(r" n't(?<=\w n't)(?![\w'])")
_SPLIT_WORD = re.compile("|".join(rf"\b(?i:{a}) (?={b}(?![\w-]))" for a, b in map(str.split, _TABLE["split-words"])))
_SPLIT_HINTS = tuple(word[1:] for word in _TABLE["split-words"])
_SPELLED = re.compile(r"(?<![\w/.@])(?:[A-Z]\*?_)+(?=\w?(?![\w/@]))")

_TITLES: dict[str, str] = {title: gender for gender, titles in _TABLE["titles"].items() for title in titles}
_OFFICE_WORDS = frozenset(_TABLE["office-words"])
_Person = tuple[object, ...]


def clean_speech(text: str) -> str:
    """Turn raw transcript text into readable text, on one line; ``""`` when it holds no word (see `is_noise`).

    Noise marks go (among them ``@ @``, by which transcribers mark speech they could not understand), and so do the
    punctuation marks that they leave doubled or at the start. Spaced punctuation, contractions, hyphens, quotes and
    spelled letters (``T_V_s``) are joined, white space becomes single spaces. Hyphens and quotes are left alone in
    text whose punctuation is not spaced: there a dash between spaces is a dash.

    The sequence of letters and digits outside noise marks never changes, text that is clean stays as it is, and
    cleaning twice gives the same as cleaning once.
    """
    text = " ".join(text.split()) if "  " in text or not text.isprintable() else text.strip()
    while _SIGN.search(text):
        before, text = text, _pass(text)
        if text == before:
            break
    return text if _WORD.search(text) else ""


def is_noise(text: str) -> bool:
    """Tell whether text holds no word: no letter or digit outside noise marks; blank text and lone punctuation too."""
    if "{" in text or "[" in text:
        text = _NOISE.sub(" ", text)
    return _WORD.search(text) is None


def _pass(text: str) -> str:
    # Each step only takes characters away (or makes noise a space), so repeating the pass comes to an end.
    tokenised = ("-" in text or '"' in text or "'" in text) and not _is_prose(text)
    if tokenised:
        text = text.replace(" - {", "- {")  # a broken word: nothing that follows belongs to it
    if "{" in text or "[" in text or "@" in text:
        text = _without_noise(text)
    text = _with_joined_punctuation(text)
    if tokenised:
        text = _HYPHEN.sub("-", _APOSTROPHE.sub("'", _with_joined_quotes(text)))
    if "'" in text:
        text = _NEGATION.sub("n't", _CLITIC.sub("'", text))
    for hint in _SPLIT_HINTS:
        if hint in text:
            text = _SPLIT_WORD.sub(lambda found: found[0][:-1], text)
    if "_" in text:
        text = _SPELLED.sub(lambda found: found[0].replace("_", ""), text)
    return text


def _is_prose(text: str) -> bool:
    return _SPACED.search(text) is None and _ATTACHED.search(text) is not None


def _on_one_line(text: str) -> str:
    return " ".join(text.split()) if "  " in text else text.strip()


def _without_noise(text: str) -> str:
    spoken = f" {text} "
    for token in _BRACES:
        if token in spoken:
            spoken = spoken.replace(token, " ")
    if "{" in spoken or "[" in spoken or "@" in spoken:
        spoken = _on_one_line(_NOISE.sub(" ", spoken))
        if "—" in spoken and "[" in text:
            spoken = re.sub(r" —(?=\w)", "—", spoken.replace("— —", "—"))
    return spoken.strip()


def _with_joined_punctuation(text: str) -> str:
    if _RUN.search(text):
        text = _RUN.sub(lambda run: next(mark for mark in _MARKS if mark in run[0]), text)
    text = _BEFORE_MARK.sub("", text)
    return _LEADING.sub("", text) if text[:1] in _MARKS else text


def _with_joined_quotes(text: str) -> str:
    if '"' not in text:
        return text
    is_open = False

    def join(found: re.Match[str]) -> str:
        nonlocal is_open
        start, end = found.span()
        if text[start] == " " or text[start - 1 : start] in ("", " "):
            ends = end == len(text) or text[end] in _MARKS
            closes = ends or (is_open and (found[1] == " " or _PLURAL.match(text, end) is not None))
        else:
            closes = True
        is_open = not closes
        return '"' + found[1] if closes else found[0].rstrip(" ")

    joined = _QUOTE.sub(join, text)
    # An empty pair that was not there before held nothing but noise.
    return joined if '""' in text else _on_one_line(joined.replace('""', ""))


class _Name(NamedTuple):
    """A speaker name taken apart; ``words`` are its bearer's own, lower case, and empty for a bare office."""

    shown: str
    office: str
    titles: frozenset[str]
    words: tuple[str, ...]
    note: str


def canonical_names(speakers: Iterable[str]) -> dict[str, str]:
    """Map each spelling of a speaker's name in one meeting to one name a person.

    Two spellings are one person when they differ only in white space, case, words of address (``Hon.``, ``Mr.``) or
    in having a note in parentheses (party and riding, or office). ``The Chair`` is whoever is named as
    ``The Chair (...)``, when that is one person. Where merging might join two people, the spellings stay apart: the
    same name with two different notes, or with a man's and a woman's address, or different address before a single
    word (``Professor B``).

    The name of a person is the shortest of the spellings without their notes (the chair's with the person in
    parentheses: ``The Acting Chair (Mr. Ray Lowe)``); of equally short ones the one in mixed case, then the first in
    the alphabet. People who would get the same name keep their notes. The result depends on the set of names only.
    """
    names = {spelling: _parse(spelling) for spelling in sorted(set(speakers))}
    people = _people(names)
    short = {person: min((names[s].shown for s in group), key=_plainness) for person, group in people.items()}
    taken = Counter(name.casefold() for name in short.values())
    canonical: dict[str, str] = {}
    for person, group in people.items():
        alone = taken[short[person].casefold()] == 1
        name = short[person] if alone else min((" ".join(spelling.split()) for spelling in group), key=_plainness)
        canonical.update(dict.fromkeys(group, name))
    return canonical


def role_of(spellings: Iterable[str]) -> str | None:
    """Return a person's role from all spellings of the name, or None when they do not tell it.

    In this order: a seat (``Project Manager``, ``Graduate student``), the chair, the office in parentheses as it is
    written (``Minister of Health``), ``Member`` for a party, what letters after the name mean (``Assembly Member``).
    """
    found = [rank for spelling in spellings for rank in _roles(_parse(spelling))]
    return min(found)[1] if found else None


def _parse(spelling: str) -> _Name:
    name = _parse_person(spelling)
    words = _words(name.shown)
    office = " ".join(words[1:] if words[:1] == ("the",) else words).replace("-", " ")
    if office not in _TABLE["offices"]:
        return name
    holder = _parse_person(name.note)
    if not holder.words or "," in holder.shown:
        return _Name(name.shown, office, frozenset(), (), name.note)
    return holder._replace(shown=f"{name.shown} ({holder.shown})", office=office)


def _parse_person(spelling: str) -> _Name:
    head, _, rest = " ".join(spelling.split()).partition("(")
    shown, note = head.strip(" :;,"), rest.strip(" :;,").removesuffix(")").strip()
    words = _words(shown)
    first = 0
    while first < len(words) - 1 and words[first] in _TITLES:
        first += 1
    return _Name(shown or spelling, "", frozenset(words[:first]), words[first:], note)


def _words(shown: str) -> tuple[str, ...]:
    stripped = (word.strip(".,:;") for word in shown.casefold().replace("\u2019", "'").split())
    return tuple(word for word in stripped if word)


def _people(names: Mapping[str, _Name]) -> dict[_Person, list[str]]:
    namesakes: dict[tuple[str, ...], list[_Name]] = defaultdict(list)
    for name in names.values():
        namesakes[name.words].append(name)
    known = {spelling: _person(name, namesakes[name.words]) for spelling, name in names.items() if name.words}
    holders: dict[str, set[_Person]] = defaultdict(set)
    for spelling, person in known.items():
        holders[names[spelling].office].add(person)
    people: dict[_Person, list[str]] = defaultdict(list)
    for spelling, name in names.items():
        person = known.get(spelling, (name.office or spelling, name.note.casefold()))
        if name.office and not name.words and not name.note and len(holders[name.office]) == 1:
            (person,) = holders[name.office]
        people[person].append(spelling)
    return people


def _person(name: _Name, namesakes: Iterable[_Name]) -> _Person:
    genders = {_gender(other) for other in namesakes} - {""}
    notes = {other.note.casefold() for other in namesakes} - {""}
    return (
        name.words,
        name.titles if len(name.words) == 1 else None,
        _gender(name) if len(genders) > 1 else None,
        name.note.casefold() if len(notes) > 1 else None,
    )


def _gender(name: _Name) -> str:
    return " ".join(sorted({_TITLES[title] for title in name.titles} - {"neutral"}))


def _plainness(name: str) -> tuple[int, bool, str]:
    return len(name), name in (name.lower(), name.upper()), name


def _roles(name: _Name) -> Iterator[tuple[int, str]]:
    words, noted = _words(name.shown), _words(name.note)
    lettered = len(words) > 1 and len(words[-1]) == 1
    seat = " ".join(words[:-1] if lettered else words)
    if seat in _TABLE["seats"]:
        yield 0, _TABLE["seats"][seat]
    if name.office:
        yield 1, _TABLE["offices"][name.office]
    if not _OFFICE_WORDS.isdisjoint(noted):
        yield 2, name.note
    elif noted and noted[-1] in _TABLE["parties"]:
        yield 3, "Member"
    if words and name.shown.split()[-1] in _TABLE["suffixes"]:
        yield 4, _TABLE["suffixes"][name.shown.split()[-1]]
