"""Reports as test results for CI systems: JUnit XML, as GitLab and Jenkins read it."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from temper.analysis.checks import Check, Checked, Result, Suite, suites
from temper.invocation import as_typed


def to_junit(reports: Sequence[Checked]) -> str:
    """Return reports as JUnit XML: suites of checks, each a test case."""
    root = Element("testsuites", name="temper")
    found: list[Suite] = []
    for report in reports:
        for suite in suites(report):
            found.append(suite)
            element = SubElement(root, "testsuite", name=_plain(suite.name))
            # Without a time zone, which the format's readers do not expect.
            element.set("timestamp", f"{report.started:%Y-%m-%dT%H:%M:%S}")
            _count(element, [suite])
            properties = SubElement(element, "properties")
            for name, value in _properties(report):
                SubElement(properties, "property", name=name, value=_plain(value))
            for check in suite.checks:
                _case(element, suite, check)
    _count(root, found)
    # Jenkins' schema has this count only for each suite.
    del root.attrib["skipped"]
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _properties(report: Checked) -> Sequence[tuple[str, str]]:
    return ("run", str(report.run)), ("command", as_typed(report.command))


def _count(element: Element, found: Sequence[Suite]) -> None:
    checks = [check for suite in found for check in suite.checks]
    results = [check.result for check in checks]
    element.set("tests", str(len(checks)))
    element.set("failures", str(results.count(Result.FAILED)))
    element.set("errors", "0")
    element.set("skipped", str(results.count(Result.SKIPPED)))
    element.set("time", f"{sum(check.seconds for check in checks):.3f}")


def _case(parent: Element, suite: Suite, check: Check) -> None:
    case = SubElement(parent, "testcase", name=_plain(check.name))
    case.set("classname", _plain(suite.name))
    case.set("time", f"{check.seconds:.3f}")
    why = _plain("\n".join(check.why))
    summary = _plain(next(iter(check.why), check.result.value))
    match check.result:
        case Result.FAILED:
            SubElement(case, "failure", message=summary).text = why
        case Result.SKIPPED:
            SubElement(case, "skipped", message=summary).text = why
        case Result.PASSED if why:
            SubElement(case, "system-out").text = why


def _plain(text: str) -> str:
    """Return text without characters that XML cannot hold; kernels print some."""
    return re.sub(
        r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text
    )
