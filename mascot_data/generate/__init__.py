"""Candidates and rollouts: what models say in the place of people, and everything needed to say it again."""
