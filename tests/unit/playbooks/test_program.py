"""A role's program runs with what it imports, and its answer is the task's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule  # type: ignore[import-untyped]  # (ansible has no types)

if TYPE_CHECKING:
    import pytest

    from tests.unit.playbooks.conftest import Library

PROGRAM = "import json, sys\nimport on_host\nprint(json.dumps(on_host.said(json.load(sys.stdin))))\n"


def ran(library: Library, said: str, *, check: bool = False) -> dict[str, object]:
    texts = {"on_host.py": f"def said(asked):\n    return {said}\n", "first.py": PROGRAM}
    answer: dict[str, object] = library.run(
        "program", check=check, src="roles/one/files/first.py", texts=texts, input={"plan": 7}
    )
    return answer


def test_a_program_imports_what_was_handed_over_with_it(library: Library) -> None:
    answer = ran(library, "{'changes': [str(asked['plan'])]}")
    assert (answer["changed"], answer["changes"]) == (True, ["7"])
    assert "drift" not in answer


def test_the_hosts_log_has_no_program_in_it(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[str] = []
    monkeypatch.setattr(AnsibleModule, "log", lambda _, text, **__: logged.append(text))
    ran(library, "{}")
    (line,) = logged
    assert "src=roles/one/files/first.py" in line
    assert "import on_host" not in line


def test_check_mode_is_the_programs_own_and_its_drift_is_told(library: Library) -> None:
    answer = ran(library, "{'changes': [], 'drift': [{'check': asked['check']}]}", check=True)
    assert (answer["changed"], answer["drift"]) == (False, [{"check": True}])


def test_a_refusal_fails_the_task_in_its_words(library: Library) -> None:
    answer = ran(library, "{'failed': 'the device holds xfs'}")
    assert answer["failed"] is True
    assert answer["msg"] == "the device holds xfs"


def test_a_program_that_dies_is_told_by_its_last_line(library: Library) -> None:
    answer = ran(library, "{}['none']")
    assert answer["msg"] == "roles/one/files/first.py: KeyError: 'none'"
