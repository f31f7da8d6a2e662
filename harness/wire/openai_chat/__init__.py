"""OpenAI Chat Completions, judge's side."""
