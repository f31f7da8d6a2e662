"""Nothing leaves the machine: the audit hook that denies every connection and name look-up beyond loopback.

It knows addresses and nothing else of the project. Rule: DESIGN.md, "Nothing leaves the machine".
"""
