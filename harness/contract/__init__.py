"""What every provider adapter and every run loop must show: classes that a third party subclasses in its own suite.

`ProviderContract` is over one wire, `LoopContract` over scenario files. Both are plain classes of tests for pytest; the
words that they share (sample requests, what a wire carries, hypothesis strategies) stand beside them. A module is
imported when a suite asks for it: nothing here is loaded by the command line.
"""
