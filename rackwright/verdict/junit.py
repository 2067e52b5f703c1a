"""A verdict in, JUnit XML out: one suite a kind of subject, one case a subject.

FAIL is a failure, ERROR an error, NOT_RUN a skipped case. The form is that of the Jenkins schema
(``junit-10.xsd`` of the xUnit plugin), which other readers take too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwright.validate.model import Run
    from rackwright.verdict.model import Reason, Subject, Verdict

_ELEMENTS = {Value.FAIL: "failure", Value.ERROR: "error", Value.NOT_RUN: "skipped"}
_COUNTS = {"failures": Value.FAIL, "errors": Value.ERROR, "skipped": Value.NOT_RUN}
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write (§2.2)."""


def document(verdict: Verdict, run: Run) -> str:
    """The XML of one verdict."""
    root = ET.Element("testsuites", _attributes(f"{verdict.cluster} {verdict.suite}", verdict.subjects))
    for kind in Kind:
        subjects = [subject for subject in verdict.subjects if subject.kind is kind]
        if subjects:
            root.append(_suite(verdict, run, kind, subjects))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _attributes(name: str, subjects: Sequence[Subject]) -> dict[str, str]:
    verdicts = [subject.verdict for subject in subjects]
    counts = {attribute: str(verdicts.count(value)) for attribute, value in _COUNTS.items()}
    return {"name": name, "tests": str(len(verdicts)), **counts}


def _suite(verdict: Verdict, run: Run, kind: Kind, subjects: Sequence[Subject]) -> ET.Element:
    suite = ET.Element("testsuite", _attributes(kind.value, subjects))
    suite.set("timestamp", verdict.started.removesuffix("Z"))
    suite.set("time", f"{_seconds(run, kind):.3f}")
    for subject in sorted(subjects, key=lambda one: one.name):
        suite.append(_case(verdict, subject))
    return suite


def _seconds(run: Run, kind: Kind) -> float:
    """Time that steps took; of the site alone, so that it is counted once."""
    return sum(step.seconds for step in run.steps) if kind is Kind.SITE else 0.0


def _case(verdict: Verdict, subject: Subject) -> ET.Element:
    classname = f"rackwright.{verdict.cluster}.{verdict.suite}.{subject.kind}"
    case = ET.Element("testcase", name=_clean(subject.name), classname=classname, time="0.000")
    element = _ELEMENTS.get(subject.verdict)
    if element is None:
        return case
    telling = [reason for reason in subject.reasons if reason.value is subject.verdict]
    found = ET.SubElement(case, element, message=_clean(telling[0].cause), type=telling[0].criterion)
    found.text = _clean("\n\n".join(map(_reason, telling)))
    return case


def _reason(reason: Reason) -> str:
    facts = {
        "measured": "" if reason.measured is None else f"{reason.measured} {reason.unit or ''}".strip(),
        "expected": reason.expected,
        "from": reason.provenance,
        "explained by": reason.explained_by,
        "next": reason.action,
        "evidence": ", ".join(artefact.path for artefact in reason.evidence),
    }
    lines = [f"{name}: {fact}" for name, fact in facts.items() if fact]
    return "\n".join([f"{reason.criterion}: {reason.cause}", *lines])


def _clean(text: str) -> str:
    """A text that XML can hold."""
    return _NO_XML.sub("\ufffd", text)
