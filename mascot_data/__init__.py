"""Multi-persona dialogue datasets and annotation for MASCOT (arXiv 2601.14230)."""
