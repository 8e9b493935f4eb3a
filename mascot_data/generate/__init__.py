"""Candidates and rollouts: what models say in the place of people, and everything needed to say it again."""

from mascot_data.generate.candidates import candidates
from mascot_data.generate.rollouts import rollouts

__all__ = ["candidates", "rollouts"]
