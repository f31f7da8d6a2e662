"""Dialects: how servers that speak a provider's protocol differ from the provider. Data in contracts/dialects.

`load(name)` reads one, `names()` lists them, `Dialect.codec(transport)` judges and answers with it.
"""

from harness.wire.dialects.codec import codec_of
from harness.wire.dialects.load import DialectError, load, names, of_host, read
from harness.wire.dialects.model import Answers, Dialect, Speech

__all__ = ["Answers", "Dialect", "DialectError", "Speech", "codec_of", "load", "names", "of_host", "read"]
