"""The judge's side of each wire: legality oracle, request decoder, response and stream encoder.

It is written from the providers' rules alone and shares no code with the client side: the two implementations are tied
together by round-trip tests only.
"""
