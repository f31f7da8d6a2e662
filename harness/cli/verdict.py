"""After the engine has stopped: reports from the run record, the verdict in words, and the exit code."""

from pathlib import Path
from typing import Any, TextIO

from harness.cli.engine import Front
from harness.cli.errors import CommandError, Exit
from harness.reports.record import RunRecord, read_record
from harness.suite.plan import RunPlan
from harness.suite.session import RECORD_NAME, RunSession

_INTERRUPTED, _INTERNAL, _USAGE = 2, 3, 4


def say_verdict(code: int, front: Front, plan: RunPlan, output: Path, form: str, out: TextIO) -> int:
    """Write the reports, print the result in its form, and return the exit code."""
    if front.problems:
        kind = Exit.HARNESS_FAULT if code == _INTERNAL else Exit.USAGE
        raise CommandError("\n".join(front.problems), kind)
    if code == _INTERNAL or front.session is None:
        raise CommandError("pytest stopped with an internal error", Exit.HARNESS_FAULT)
    if code == _USAGE:
        raise CommandError("pytest could not start this run")
    if not front.session.results:
        raise CommandError("nothing ran", Exit.NOTHING_RAN)
    record = read_record(output / RECORD_NAME)
    unwritten = _write_reports(record, output)
    _print(record, front.session, output, form, out)
    if unwritten is not None:
        where = unwritten.filename or output
        raise CommandError(f"{where}: a report cannot be written: {unwritten.strerror}; choose another --output folder")
    if code == _INTERRUPTED:
        return Exit.INTERRUPTED
    if not record.complete:
        missing = record.header["selected"] - len(record.results)
        raise CommandError(f"{missing} cases have no result: a worker process died; run again", Exit.HARNESS_FAULT)
    return exit_code(front.session)


def exit_code(session: RunSession) -> Exit:
    """What a finished session comes to."""
    if session.totals.faults:
        return Exit.HARNESS_FAULT
    if session.totals.broken_cases:
        return Exit.BROKEN
    if session.stale:
        return Exit.STALE_BASELINE
    return Exit.KEPT


def _write_reports(record: RunRecord, output: Path) -> OSError | None:
    """Write all reports; what kept one from being written, so that the verdict can be said first."""
    from harness.reports.html import html_report
    from harness.reports.junit import junit_xml
    from harness.reports.markdown import markdown_summary
    from harness.suite.promises import requirements

    try:
        (output / "junit.xml").write_text(junit_xml(record), encoding="utf-8", newline="\n")
        (output / "report.html").write_text(html_report(record, requirements()), encoding="utf-8", newline="\n")
        (output / "summary.md").write_text(markdown_summary(record), encoding="utf-8", newline="\n")
    except OSError as error:
        return error
    return None


def _print(record: RunRecord, session: RunSession, output: Path, form: str, out: TextIO) -> None:
    if form == "json":
        out.write(_json_text(record))
    elif form == "markdown":
        from harness.reports.markdown import markdown_summary

        out.write(markdown_summary(record))
    else:
        _pretty(session, record, output, out)
    out.flush()


def _json_text(record: RunRecord) -> str:
    import json

    from harness.reports.run_object import run_object

    made: dict[str, Any] = run_object(record)
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def _pretty(session: RunSession, record: RunRecord, output: Path, out: TextIO) -> None:
    import shutil

    from harness.reports.terminal import matrix_lines, summary_lines, write_lines
    from harness.suite.items import told

    width = shutil.get_terminal_size((100, 24)).columns
    lines = matrix_lines(session.totals, width) if session.totals.cases > 1 else []
    for result in session.results:
        block = told(result, session.plan.level)
        lines += ["", *block] if block else []
    lines += [f"STALE  {entry}" for entry in session.stale]
    lines += ["", *summary_lines(record), f"record  {output / RECORD_NAME}"]
    write_lines(lines, out)
