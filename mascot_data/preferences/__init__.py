"""Preference pairs and group rewards from judgments (and, later, from people)."""

from mascot_data.preferences.groups import group_reward, groups
from mascot_data.preferences.run import pairs

__all__ = ["group_reward", "groups", "pairs"]
