"""Suites: which scenarios run on which arms, as pytest items, and one run record of it all. Judges nothing itself."""
