"""The run record and its consumers: terminal, JUnit XML, Markdown, JSON.

The record is written while a run goes on; everything else is made from it. This room knows verdicts, not how they were
reached: it imports neither the loop, the checks nor the scenarios.
"""
