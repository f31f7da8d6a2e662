"""Usage of a scripted turn as the whole numbers that the wires ask for.

A script that says nothing of usage gets zeros of every class, equal on all wires. In a usage that reports some classes,
the others are left out where the wire can leave them out, and are 0 where it cannot.
"""

from collections.abc import Mapping

from harness.vocabulary.usage import NO_USAGE, Usage

_SILENT = Usage(input_tokens=0, cached_tokens=0, cache_write_tokens=0, output_tokens=0, reasoning_tokens=0)


def counted(usage: Usage) -> Usage:
    """The usage to put on the wire."""
    return _SILENT if usage == NO_USAGE else usage


def openai_chat(usage: Usage) -> dict[str, object]:
    """`usage` of Chat Completions: cached and reasoning tokens are parts of the totals."""
    prompt, completion = usage.input_tokens or 0, usage.output_tokens or 0
    cached = {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens}
    reasoning = {"reasoning_tokens": usage.reasoning_tokens}
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": _known(cached | {"audio_tokens": 0}),
        "completion_tokens_details": _known(reasoning | {"audio_tokens": 0}),
    }


def openai_responses(usage: Usage) -> dict[str, object]:
    """`usage` of Responses; all its details are required there."""
    prompt, output = usage.input_tokens or 0, usage.output_tokens or 0
    return {
        "input_tokens": prompt,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens or 0,
            "cache_write_tokens": usage.cache_write_tokens or 0,
        },
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": prompt + output,
    }


def anthropic_input(usage: Usage) -> dict[str, object]:
    """Input side of Messages usage: `input_tokens` is what was neither read from a cache nor written to one."""
    cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    return _known(
        {
            "input_tokens": max(0, (usage.input_tokens or 0) - cached - written),
            "cache_creation_input_tokens": usage.cache_write_tokens,
            "cache_read_input_tokens": usage.cached_tokens,
        }
    )


def anthropic_output(usage: Usage) -> dict[str, object]:
    """Output side of Messages usage."""
    thinking = usage.reasoning_tokens
    details = None if thinking is None else {"thinking_tokens": thinking}
    return _known({"output_tokens": usage.output_tokens or 0, "output_tokens_details": details})


def _known(fields: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in fields.items() if value is not None}
