"""Neutral words shared by every room: values only, no algorithms, no I/O, no provider names in the types.

A room imports from the module that defines a word (`harness.vocabulary.content`), so that a reader sees where
it comes from and a cold start loads only what it needs.
"""
