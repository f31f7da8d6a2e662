"""One checker per promise, over the trace of one run.

A checker recomputes what the rule demands from the rule's own words and the trace alone. This room shares no code with
the reference loop and none with the transports: the judge may not inherit the mistakes of the accused.
"""
