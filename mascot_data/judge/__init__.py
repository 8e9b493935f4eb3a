"""Judging: rubrics as data, the methods that score with them, and the command that keeps every score."""

from mascot_data.judge.run import judge

__all__ = ["judge"]
