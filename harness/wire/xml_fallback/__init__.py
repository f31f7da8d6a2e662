"""The XML fallback: tools in a text protocol over the Chat Completions wire, judge's side."""
