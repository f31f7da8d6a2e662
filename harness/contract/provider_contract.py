"""The contract of a provider adapter: what each wire's client side promises, as a class of tests to subclass.

    class TestMyAdapter(ProviderContract):
        transport = "openai-chat"

        def make_adapter(self):
            return MyAdapter()

The adapter is anything with the methods of `harness.transports.adapter.Adapter`. It is judged by the wire's own side
(decoder, oracle, encoder) and by the types of the installed official SDK; none of that shares code with an adapter of
this project. Each test names its promise; the rules behind them are loop.md sections 4 to 6. Golden payloads are
written beside the test file by `pytest --snapshot-update` (syrupy's option), and are compared from then on.
"""

from harness.contract.provider_reading import ReadingPromises
from harness.contract.provider_sending import SendingPromises


class ProviderContract(SendingPromises, ReadingPromises):
    """Subclass it, set `transport` to a wire's id and return an adapter from `make_adapter`. Where bytes go another way
    or another judge is wanted, override `rendered`, `make_codec` or `golden_name` (`provider_suite`)."""
