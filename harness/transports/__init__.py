"""The client side of each wire: neutral request to payload bytes, provider stream to neutral events.

Written from the providers' rules alone; the judge's side of each wire is written a second time elsewhere, and neither
may read the other.
"""
