"""The utterances of many two-party conversations in columns: who says them, what, and what is unusual about them."""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mascot_data.build.bits import bit
from mascot_data.build.columns import Marks, Numbers, bounds, strings
from mascot_data.build.texts import blank, changed, clean_chat, cleaned, lettered, lowered, matches
from mascot_data.build.turns import Dropped, Runs, repeats
from mascot_data.build.voices import CorpusRules, with_neighbours
from mascot_data.sources.conversation import Conversation

_SEPARATOR = re.compile(r"\|\|+ *NEW CONVERSATION *\|*")


class Said:
    """Utterances in one row, numbered through; what is known of them are columns over all of them.

    ``first`` is the first utterance of each conversation, and after the last one the number of all; ``home`` the
    conversation of each. ``voice`` is the number of its voice, ``speaker`` that of who speaks it once neutral acts have
    gone to a neighbour; ``name`` the number (among ``names``) of its raw speaker, ``named`` whether that is the first
    raw speaker of its side. ``flags`` are bits.
    """

    def __init__(self, conversations: Sequence[Conversation], rules: CorpusRules, *, clean: bool) -> None:
        self.conversations, self.rules = conversations, rules
        self.first = bounds(np.array([len(conversation.utterances) for conversation in conversations], np.int64))
        self.home = np.repeat(np.arange(len(conversations)), np.diff(self.first))
        self.utterances = [utterance for conversation in conversations for utterance in conversation.utterances]
        self.raw = strings([utterance.text for utterance in self.utterances])
        self._give_voices()
        self._give_names()
        plain = cleaned(self.raw) if clean else self.raw
        self.heard = lowered(plain)
        self.flags = self._flags(plain)
        self.text = self._without_separators(plain) if clean else plain

    def _give_voices(self) -> None:
        rules = self.rules
        self.voice = rules.voices_of(self.conversations, self.raw)
        self.agent = np.array([voice.agent for voice in rules.voices], np.bool_)[self.voice]
        known = {speaker: number for number, speaker in enumerate(rules.speakers)}
        speakers = np.array([known.get(voice.speaker, -1) for voice in rules.voices], np.int64)[self.voice]
        self.speaker = with_neighbours(speakers, self.first, known[rules.roster[0].id])

    def _give_names(self) -> None:
        codes: dict[str, int] = {}
        self.name = np.array([codes.setdefault(u.speaker, len(codes)) for u in self.utterances], np.int64)
        self.names = strings(list(codes))
        self._sides, self._first = np.unique(self.home * 2 + self.agent, return_index=True)
        self.named = self.name == self.first_name(self.home * 2 + self.agent)

    def first_name(self, sides: Numbers) -> Numbers:
        """Return the first raw speakers of sides; a side is twice the conversation, and one more for the agents."""
        return self.name[self._first[np.searchsorted(self._sides, sides)]]

    def _flags(self, plain: pa.StringArray) -> Numbers:
        flags = np.array([bit(*voice.flags) for voice in self.rules.voices], np.int64)[self.voice]
        flags |= np.where(lettered(plain), 0, bit("number-only"))
        return flags | np.where(repeats(self.utterances, self.home), bit("repeat"), 0)

    def _without_separators(self, plain: pa.StringArray) -> pa.StringArray:
        where = matches(plain, r"\|\|+ *NEW CONVERSATION")
        self.flags |= np.where(where, bit("leaked-separator"), 0)
        return changed(plain, where, lambda text: clean_chat(_SEPARATOR.sub(" ", text)))

    def runs(self) -> tuple[Runs, Marks]:
        """Group consecutive utterances of one speaker; leaves out blank ones, which the second value tells."""
        gone = blank(self.text)
        said = np.flatnonzero(~gone)
        begins = np.ones(len(said), np.bool_)
        before, now = said[:-1], said[1:]
        begins[1:] = (self.home[now] != self.home[before]) | (self.speaker[now] != self.speaker[before])
        return Runs(said, begins), gone

    def dropped(self, gone: Marks) -> list[Dropped]:
        """Tell of the utterances that are in no turn."""
        found = []
        for number in np.flatnonzero(gone).tolist():
            home, utterance = int(self.home[number]), self.utterances[number]
            owner, place = self.conversations[home].source_id, number - int(self.first[home])
            found.append(Dropped(owner, place, utterance.speaker, utterance.text, "blank"))
        return found
