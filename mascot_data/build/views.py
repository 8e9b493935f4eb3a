"""The configs that trainers read, made from the columns of ``dialogues``: speaker turns, Director turns, blocks.

Each row says how many turns its prompt shows and how many were cut from the front to keep the budget.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mascot_data.build.columns import (
    Marks,
    Numbers,
    bounds,
    constant,
    flat,
    integers,
    lists,
    marks,
    present,
    ranges,
    repeated,
    scalar,
    strings,
    structs,
    take,
    true,
)
from mascot_data.build.directives import tones, verbs_and_focuses
from mascot_data.build.projection import GO_ON
from mascot_data.build.room import (
    DIRECTOR,
    USER_NAME,
    Budget,
    Room,
    ViewOptions,
    context_starts,
    decision,
    estimate_tokens,
    room_names,
)
from mascot_data.build.rooms import Rooms
from mascot_data.personas import director_message, system_message
from mascot_data.records import Block, DirectorTurn, SpeakerTurn, arrow_schema
from mascot_data.records.dialogue import SCHEMA_VERSION

__all__ = [
    "DIRECTOR",
    "SCHEMAS",
    "USER_NAME",
    "Budget",
    "Room",
    "ViewOptions",
    "Views",
    "context_starts",
    "decision",
    "estimate_tokens",
    "room_names",
]

SCHEMAS = {
    "speaker_turns": arrow_schema(SpeakerTurn),
    "director_turns": arrow_schema(DirectorTurn),
    "blocks": arrow_schema(Block),
}
"""Arrow schema of each view."""

_MESSAGE = SCHEMAS["blocks"].field("prompt").type.value_type
_TURN = SCHEMAS["blocks"].field("turns").type.value_type
_ROLLOUT = SCHEMAS["blocks"].field("rollout").type
_ROLES = strings(["system", "user", "assistant"])
_SYSTEM, _USER, _ASSISTANT = range(3)


class Views:
    """Makes the tables of all views; system messages are rendered once."""

    def __init__(self, options: ViewOptions) -> None:
        self._options = options
        self._systems: dict[tuple[str, str], str] = {}
        self._directors: dict[tuple[str, str], str] = {}

    def tables(self, dialogues: pa.Table) -> dict[str, pa.Table]:
        """Return config name to table, for rows of dialogues."""
        rooms = Rooms(dialogues, self._options)
        made = {
            "speaker_turns": self._speaker_turns(rooms),
            "director_turns": self._director_turns(rooms),
            "blocks": self._blocks(rooms),
        }
        return {config: pa.Table.from_arrays(made[config], schema=schema) for config, schema in SCHEMAS.items()}

    def _speaker_turns(self, rooms: Rooms) -> list[pa.Array]:
        turns = rooms.turns
        asked = np.flatnonzero(present(turns["directive"]) & present(turns["persona"]))
        home = rooms.home[asked]
        return [
            rooms.ids(asked),
            take(rooms.id, home),
            integers(asked - rooms.first[home]),
            take(turns["persona"], asked),
            take(rooms.subset, home),
            take(turns["directive"], asked),
            self._speaker_prompts(rooms, asked),
            _alone(_ASSISTANT, take(turns["text"], asked)),
            *_shown(rooms, asked),
            take(turns["flags"], asked),
            *_ends(rooms, home),
        ]

    def _speaker_prompts(self, rooms: Rooms, asked: Numbers) -> pa.ListArray:
        """Show each agent the system message, then in turn what others said and what it said itself."""
        personas = take(rooms.turns["persona"], asked).to_pylist()
        system = repeated(
            [self._system(rooms, home, who) for home, who in zip(rooms.home[asked].tolist(), personas, strict=True)]
        )
        own = _Own(rooms, asked)
        size, before = len(asked), own.before
        counts = 2 + 2 * before
        rows = np.repeat(np.arange(size), counts)
        place = np.arange(counts.sum()) - bounds(counts)[:-1][rows]
        said = own.turns[own.begin[rows] + np.maximum(place - 1, 0) // 2]  # the own turn a message is, or goes before
        # Where a message's content is: systems, first and last user messages by row; user and own messages by turn.
        all_turns = len(rooms.home)
        where = np.select(
            [place == 0, place == counts[rows] - 1, place == 1, place % 2 == 1],
            [rows, 2 * size + rows, size + rows, 3 * size + said],
            3 * size + all_turns + said,
        )
        pool = [system, own.first(), own.last(), own.between(), rooms.turns["text"]]
        roles = np.where(place == 0, _SYSTEM, np.where(place % 2 == 1, _USER, _ASSISTANT))
        return lists(counts, _messages(roles, take(pa.concat_arrays(pool), where)))

    def _director_turns(self, rooms: Rooms) -> list[pa.Array]:
        turns = rooms.turns
        asked = np.flatnonzero(present(turns["directive"]))
        home, directive = rooms.home[asked], take(turns["directive"], asked)
        agent, action, tone, origin = (directive.field(number) for number in range(4))
        decisions = [
            decision(*parts) for parts in zip(agent.to_pylist(), action.to_pylist(), tone.to_pylist(), strict=True)
        ]
        rule = constant("rule", len(asked))
        return [
            rooms.ids(asked),
            take(rooms.id, home),
            integers(asked - rooms.first[home]),
            take(rooms.subset, home),
            self._room_so_far(rooms, asked),
            _alone(_ASSISTANT, repeated(decisions)),
            agent,
            action,
            tone,
            self._candidates(rooms, asked, agent),
            pc.if_else(marks(_by_act(rooms)[asked]), origin, rule),
            origin,
            rule,
            *_shown(rooms, asked),
            take(turns["flags"], asked),
            *_ends(rooms, home),
        ]

    def _candidates(self, rooms: Rooms, asked: Numbers, agents: pa.StringArray) -> pa.ListArray:
        """List who may speak: the roster without the agent that has just spoken, unless the source did that."""
        goes_on = asked > rooms.first[rooms.home[asked]]
        before = take(rooms.turns["persona"], np.maximum(asked - 1, 0), ~goes_on).to_pylist()
        domains = [rooms.domains[home] for home in rooms.home[asked].tolist()]
        codes: dict[tuple[str, str | None, str], int] = {}
        keys = zip(domains, before, agents.to_pylist(), strict=True)
        places = [codes.setdefault(key, len(codes)) for key in keys]
        found = [self._without(*key) for key in codes]
        counts = np.array(list(map(len, found)), np.int64)
        return take(lists(counts, strings([name for names in found for name in names])), np.array(places, np.int64))

    def _without(self, domain: str, before: str | None, agent: str) -> list[str]:
        roster = self._options.cards.roster_for(domain).personas
        return [persona for persona in roster if persona != before or persona == agent]

    def _blocks(self, rooms: Rooms) -> list[pa.Array]:
        size, turns = self._options.block_turns, rooms.turns
        count = -(-np.diff(rooms.first) // size)
        home = np.repeat(np.arange(len(count)), count)
        begin = rooms.first[home] + (np.arange(len(home)) - bounds(count)[:-1][home]) * size
        long = np.minimum(rooms.first[home + 1] - begin, size)
        agents = bounds(present(turns["persona"]).astype(np.int64))
        kept = np.flatnonzero(agents[begin + long] > agents[begin])
        begin, long, home = begin[kept], long[kept], home[kept]
        place = ranges(begin, long)
        block = [take(turns[name], place) for name in ("speaker", "kind", "persona", "text", "directive")]
        parts = [rooms.ids(begin), integers(long).cast(pa.string())]
        return [
            pc.binary_join_element_wise(*parts, scalar("+")),
            take(rooms.id, home),
            take(rooms.subset, home),
            integers(begin - rooms.first[home]),
            lists(long, structs(_TURN, block)),
            self._room_so_far(rooms, begin),
            *_shown(rooms, begin),
            constant("corpus", len(begin)),
            pa.nulls(len(begin), _ROLLOUT),
            *_ends(rooms, home),
        ]

    def _room_so_far(self, rooms: Rooms, turns: Numbers) -> pa.ListArray:
        system = repeated([self._director(rooms, home) for home in rooms.home[turns].tolist()])
        heard = rooms.heard(rooms.start[turns], turns)
        size = len(turns)
        where = np.arange(2 * size).reshape(2, size).T.ravel()
        contents = take(pa.concat_arrays([system, heard]), where)
        return lists(np.full(size, 2), _messages(np.tile([_SYSTEM, _USER], size), contents))

    def _system(self, rooms: Rooms, home: int, persona: str) -> str:
        key = (rooms.domains[home], persona)
        if key not in self._systems:
            cards = self._options.cards
            others = cards.others(persona, cards.roster_for(rooms.domains[home]))
            self._systems[key] = system_message(cards.cards[persona], others)
        return _with_outline(self._systems[key], rooms.outlines[home])

    def _director(self, rooms: Rooms, home: int) -> str:
        key = (rooms.domains[home], rooms.sources[home])
        if key not in self._directors:
            cards = self._options.cards
            roster = cards.roster_for(rooms.domains[home]).personas
            named = [cards.cards[persona] for persona in roster]
            self._directors[key] = director_message(named, *verbs_and_focuses(rooms.sources[home]), tones(roster))
        return _with_outline(self._directors[key], rooms.outlines[home])


class _Own:
    """What the agent of each asked turn said before, within the context.

    All turns stand in ``turns`` by speaker; those of a row are there from ``begin`` on, ``before`` many.
    """

    def __init__(self, rooms: Rooms, asked: Numbers) -> None:
        self._rooms, self._asked = rooms, asked
        who, count = rooms.who, len(rooms.who)
        self.turns = np.argsort(who, kind="stable")
        place = np.empty(count, np.int64)
        place[self.turns] = np.arange(count)
        self._start = rooms.start[asked]
        key = who[self.turns] * (count + 1) + self.turns
        self.begin = np.searchsorted(key, who[asked] * (count + 1) + self._start)
        self.before = place[asked] - self.begin

    def first(self) -> pa.StringArray:
        """Return what is heard before the first own turn; of no use where there is none."""
        end = np.where(self.before > 0, self.turns[self.begin], self._start)
        return self._rooms.heard(self._start, end)

    def between(self) -> pa.StringArray:
        """Return by turn what is heard between the turn of its speaker before and this one."""
        rooms, turns = self._rooms, self.turns
        again = np.zeros(len(turns), np.bool_)
        again[1:] = rooms.who[turns[1:]] == rooms.who[turns[:-1]]
        begin = np.empty(len(turns), np.int64)
        begin[turns] = np.where(again, np.roll(turns, 1) + 1, turns)
        return rooms.heard(begin, np.arange(len(turns)), GO_ON)

    def last(self) -> pa.StringArray:
        """Return what is heard after the last own turn, with the Director's word at the end."""
        rooms, asked = self._rooms, self._asked
        begin = np.where(self.before > 0, self.turns[self.begin + np.maximum(self.before, 1) - 1] + 1, self._start)
        directive = take(rooms.turns["directive"], asked)
        parts = [scalar(f"{DIRECTOR}: "), directive.field("action"), scalar("; "), directive.field("tone"), scalar("")]
        word = pc.binary_join_element_wise(*parts)
        return pc.if_else(
            marks(begin == asked), word, pc.binary_join_element_wise(rooms.heard(begin, asked), word, scalar("\n"))
        )


def _by_act(rooms: Rooms) -> Marks:
    """Tell of which turns the agent follows from an act of its own."""
    counts, flags = flat(rooms.turns["flags"])
    home = np.repeat(np.arange(len(counts)), counts)
    found = present(rooms.turns["acts_origin"])
    found[home[true(pc.equal(flags, scalar("neighbour-persona")))]] = False
    return found


def _alone(role: int, contents: pa.StringArray) -> pa.ListArray:
    count = len(contents)
    return lists(np.ones(count, np.int64), _messages(np.full(count, role), contents))


def _messages(roles: Numbers, contents: pa.StringArray) -> pa.StructArray:
    return structs(_MESSAGE, [take(_ROLES, roles), contents])


def _shown(rooms: Rooms, turns: Numbers) -> list[pa.Array]:
    start = rooms.start[turns]
    return [integers(turns - start), integers(start - rooms.first[rooms.home[turns]])]


def _ends(rooms: Rooms, home: Numbers) -> list[pa.Array]:
    return [take(rooms.license, home), constant(SCHEMA_VERSION, len(home))]


def _with_outline(message: str, outline: str | None) -> str:
    return f"{message}\n\n{outline}" if outline else message
