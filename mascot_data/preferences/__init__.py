"""Preference pairs and group rewards, from judgments (and, later, from people)."""
