"""Anthropic Messages, judge's side."""
