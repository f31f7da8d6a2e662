"""Scenario files, the scripted model and tools they stand for, and the runner that turns one run into findings.

Knows no loop and no transport: what is under test is behind `subject.Subject`. Import from the defining module.
"""
