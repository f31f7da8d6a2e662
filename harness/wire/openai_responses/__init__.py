"""OpenAI Responses, judge's side."""
