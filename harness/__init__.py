"""run-loop-harness: provider-contract tests and scenarios for the run loops of LLM agent runtimes."""

__version__ = "0.1.0"
