"""Multi-persona dialogue datasets and annotation for MASCOT (arXiv 2601.14230).

The commands of ``mascot-data`` as functions: ``build`` makes dataset directories, ``candidates`` and ``rollouts`` have
models speak, ``judge`` scores what they say, ``pairs`` makes preference pairs of the scores, ``validate`` checks a
dataset, ``show`` shows a dialogue, ``report`` makes a page about a dataset.
"""

from mascot_data.build import build
from mascot_data.generate import candidates, rollouts
from mascot_data.judge import judge
from mascot_data.preferences import pairs
from mascot_data.report import report
from mascot_data.show import show
from mascot_data.validate import validate
from mascot_data.version import __version__

__all__ = ["__version__", "build", "candidates", "judge", "pairs", "report", "rollouts", "show", "validate"]
