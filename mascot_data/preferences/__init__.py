"""Preference pairs from judgments (and, later, from people)."""

from mascot_data.preferences.run import pairs

__all__ = ["pairs"]
