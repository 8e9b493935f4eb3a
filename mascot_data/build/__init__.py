"""From raw conversations to a dataset directory: recast, account, views, writing.

``run`` drives a build; ``recast`` and ``meetings`` turn raw conversations into rows (``voices``, ``turns``, ``acts``,
``directives``, ``speech`` help them; their tables are in ``tables/``); ``spool``, ``writing``, ``card``, ``provenance``
and ``staging`` bring rows to disk; ``account`` proves that nothing was lost.
"""

from mascot_data.build.account import Account
from mascot_data.build.run import BuildReport, build

__all__ = ["Account", "BuildReport", "build"]
