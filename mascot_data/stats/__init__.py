"""Measures over rows, as functions: how varied, how redundant, how separable, how even, how agreeable agents are.

What needs more than the base install (sentence embeddings, a classifier) is imported when it is called for.
"""

from mascot_data.stats.blocks import About, Measured, System, about_measures, measure_blocks, roster_of
from mascot_data.stats.diversity import distinct, distinct_of_size, sampled_self_bleu, self_bleu
from mascot_data.stats.echo import agreement_opener, echo, merely_agrees, other_angle
from mascot_data.stats.embedding import Embedder, load_embedder
from mascot_data.stats.measure import Measure
from mascot_data.stats.redundancy import Redundancy, block_redundancy, chance_similarity
from mascot_data.stats.separability import Separability, separability
from mascot_data.stats.turn_taking import longest_run, next_speaker_entropy, roster_share, speaker_entropy

__all__ = [
    "About",
    "Embedder",
    "Measure",
    "Measured",
    "Redundancy",
    "Separability",
    "System",
    "about_measures",
    "agreement_opener",
    "block_redundancy",
    "chance_similarity",
    "distinct",
    "distinct_of_size",
    "echo",
    "load_embedder",
    "longest_run",
    "measure_blocks",
    "merely_agrees",
    "next_speaker_entropy",
    "other_angle",
    "roster_of",
    "roster_share",
    "sampled_self_bleu",
    "self_bleu",
    "separability",
    "speaker_entropy",
]
