"""The Arrow schema of the plain rows, given to the peers so that none of them has to guess types."""

import pyarrow as pa
from plain import SCORES

_TEXTS = ("id", "source", "split", "situation", "emotion", "problem", "topic")
_TURN = pa.struct([(name, pa.string()) for name in ("speaker", "text", "label")])

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        ("scores", pa.struct([(name, pa.int64()) for name in SCORES])),
        ("turns", pa.list_(_TURN)),
    ]
)
