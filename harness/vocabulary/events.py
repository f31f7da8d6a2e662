"""Names of run events. Their fields carry identity and classification, never arguments or result text.

Events are told at least once, in order: after a kill, those behind the last checkpoint come again, and a run that is
resumed while it stands still (it waits, or it has ended) says again where it stands. Checkpoints and the outcome are
the authority.
"""

from enum import StrEnum


class EventName(StrEnum):
    """Fields stand behind each name."""

    RUN_STARTED = "run.started"  # settings that were recorded with the run
    RUN_RESUMED = "run.resumed"  # version
    RUN_SUSPENDED = "run.suspended"  # waiting_for
    RUN_COMPLETED = "run.completed"  # truncated, refused, verdicts
    RUN_FAILED = "run.failed"  # reason, error_class, verdicts
    RUN_CANCELLED = "run.cancelled"  # reason, verdicts
    STEP_STARTED = "step.started"  # step
    SYNTHESIS_ENTERED = "synthesis.entered"  # control, reset_cap (the cap, where it kept back a reset)
    MODEL_ATTEMPTED = "model.attempted"  # step, attempt, control
    MODEL_REPLIED = "model.replied"  # step, attempt, stop, calls (number)
    MODEL_FAILED = "model.failed"  # step, attempt, kind, status, will_retry
    CALL_PROPOSED = "tool.call.proposed"  # call_id, tool: a call that is dispatched
    CALL_REFUSED = "tool.call.refused"  # call_id, tool, reason_code: no budget slot
    CALL_ANSWERED = "tool.call.answered"  # call_id, tool, reason_code: denied, unknown, invalid, truncated, not run
    CALL_FINISHED = "tool.call.finished"  # call_id, tool, outcome
    APPROVAL_REQUESTED = "approval.requested"  # call_id, tool
    APPROVAL_RESOLVED = "approval.resolved"  # call_id, tool, decision
    EVIDENCE_RESET = "evidence.reset"  # tool, resets
    CONTEXT_ELIDED = "context.elided"  # results (number), estimate_tokens
