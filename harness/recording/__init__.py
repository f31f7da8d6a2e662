"""Recorded provider traffic: reading captures of any common form, and holding them against oracle and adapters.

Nothing that is read here is ever executed or sent. Cassettes of the simulated provider are made here too.
"""
