"""What may never be written. Every writer (faults, goldens, recordings, reports) passes its text through this room.

`scrub` takes secrets out of text and headers; `scan` looks for what was left. The two share no list and no pattern,
so that one mistake cannot hide itself (review: the checker does not share its list with the scrubber).
"""
