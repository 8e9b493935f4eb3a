"""Judging: rubrics as data, the methods that score with them, and the store that keeps every score."""
