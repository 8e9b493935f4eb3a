"""Check a dataset directory: files, schema, rows, views, account, split leaks, card. ``validate`` drives the checks."""

from mascot_data.validate.reading import Problem
from mascot_data.validate.run import ValidationReport, validate

__all__ = ["Problem", "ValidationReport", "validate"]
