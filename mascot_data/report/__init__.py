"""Report on a dataset directory: one HTML page with its account, figures, flags and some dialogues."""

from mascot_data.report.data import Data
from mascot_data.report.run import Report, report

__all__ = ["Data", "Report", "report"]
