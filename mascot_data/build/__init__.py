"""From raw conversations to a dataset directory: recast, account, views, writing.

``run`` drives a build. ``pipeline`` reads one batch of conversations after the other; ``recast`` and ``meetings`` turn
a batch into columns of ``dialogues`` (``said``, ``scenes``, ``segments``, ``turns``, ``voices``, ``acts``, ``speech``
and ``directives`` help them; their tables are in ``tables/``). ``views`` turns those into the other configs; ``room``
says how one dialogue is heard, ``rooms`` does it for many. ``columns``, ``texts`` and ``bits`` are what working on
columns needs. ``spool``, ``writing``, ``card``, ``provenance`` and ``staging`` bring rows to disk; ``account`` proves
that nothing was lost.
"""

from mascot_data.build.account import Account
from mascot_data.build.run import BuildReport, build

__all__ = ["Account", "BuildReport", "build"]
