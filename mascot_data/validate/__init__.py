"""Check a dataset directory: files, schema, rows, account, split leaks, card. ``validate`` drives the checks."""

from mascot_data.validate.run import Problem, ValidationReport, validate

__all__ = ["Problem", "ValidationReport", "validate"]
