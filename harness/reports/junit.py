"""JUnit XML from a run record: one test case a case, a failure for broken promises, an error for a harness fault.

What would make a green file of a run that is not green (it was cut, nothing ran, the baseline is stale) is a test case
of its own. XML 1.0 cannot hold most control characters: they are written as escapes.
"""

from xml.etree import ElementTree as ET

from harness.reports.record import RunRecord
from harness.reports.result import CaseResult, RunLevel
from harness.reports.standing import INCOMPLETE, NOTHING_RAN, STALE, standing
from harness.reports.terminal import failure_lines, fault_lines
from harness.reports.wording import counted, printable, replay, shown
from harness.vocabulary.verdict import VerdictName

_SUITE = "harness"


def junit_xml(record: RunRecord) -> str:
    """The whole file. It declares no encoding: write it as UTF-8."""
    suite = ET.Element("testsuite", name=_SUITE)
    for result in record.results:
        suite.append(_case(result, record))
    suite.extend(_of_the_run(record))
    _count(suite, record)
    root = ET.Element("testsuites", name=_SUITE)
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(result: CaseResult, record: RunRecord) -> ET.Element:
    case = _test_case(result.case.scenario, result.case.item_id, result.seconds)
    properties = ET.SubElement(case, "properties")
    for name, value in _properties(result, record):
        ET.SubElement(properties, "property", name=name, value=printable(value))
    if result.fault is not None:
        _tell(case, "error", "fault of the harness: nothing is said of the subject", fault_lines(result))
    _failure(case, result, record.level)
    if len(case) == 1 and not_applicable(result):
        ET.SubElement(case, "skipped", message="not applicable to this subject or arm")
    return case


def _properties(result: CaseResult, record: RunRecord) -> list[tuple[str, str]]:
    mode = {None: [], True: [("streaming", "stream")], False: [("streaming", "plain")]}[result.case.streaming]
    expected = [("expected-failure", found.check) for found in result.expected(record.level)]
    return [
        ("seed", str(record.header["seed"])),
        ("transport", result.case.transport),
        *mode,
        ("replay", replay(result)),
        *expected,
    ]


def _failure(case: ET.Element, result: CaseResult, level: RunLevel) -> None:
    broken = result.broken(level)
    if broken:
        names = ", ".join(dict.fromkeys(found.check for found in broken))
        lines = [line for found in broken for line in failure_lines(result, found)]
        _tell(case, "failure", f"{counted(len(broken), 'verdict')} against the subject: {names}", lines)


def not_applicable(result: CaseResult) -> bool:
    """Whether no promise of the case applied: it proves nothing, and counts as skipped."""
    names = {verdict for _, verdict in result.verdicts()} - {VerdictName.INFO}
    return result.fault is None and names == {VerdictName.NOT_APPLICABLE}


def _of_the_run(record: RunRecord) -> list[ET.Element]:
    end = standing(record)
    cases = []
    if end.word in (INCOMPLETE, NOTHING_RAN):
        cases.append(_test_case(_SUITE, "the run comes to its end", 0))
        _tell(cases[-1], "error", f"{end.word}: {end.sentence}", ["Run it again; this file proves nothing."])
    if record.stale:
        cases.append(_test_case(_SUITE, "the baseline of expected failures holds", 0))
        _tell(cases[-1], "failure", STALE, [shown(entry) for entry in record.stale])
    return cases


def _test_case(group: str, name: str, seconds: float) -> ET.Element:
    return ET.Element("testcase", classname=printable(group), name=printable(name), time=f"{seconds:.3f}")


def _tell(case: ET.Element, kind: str, message: str, lines: list[str]) -> None:
    # The lines are redacted already; a name in them that only looks like a key must stay as it is.
    ET.SubElement(case, kind, message=printable(message)).text = "\n".join(printable(line) for line in lines)


def _count(suite: ET.Element, record: RunRecord) -> None:
    suite.set("tests", str(len(suite)))
    for name, child in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(child) is not None for case in suite)))
    suite.set("time", f"{record.seconds:.3f}")
    suite.set("timestamp", shown(record.header["started"]))
