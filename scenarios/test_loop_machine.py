"""Whatever a model, its tools and the world around them do, the pure loop keeps its promises after every step."""

from pathlib import Path

from hypothesis import settings

from harness.contract.loop_machine import LoopMachine

LoopMachine.found = Path(__file__).parent.parent / "reports" / "found"
TestLoopMachine = LoopMachine.TestCase
TestLoopMachine.settings = settings(stateful_step_count=30)
