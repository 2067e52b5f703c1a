"""Records of accounting: what is right is no change, whatever sacctmgr would say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.playbooks.conftest import Library

SACCTMGR = """#!/bin/sh
folder=$(dirname "$0")
[ -e "$folder/down" ] && { echo "sacctmgr: error: Connection refused" >&2; exit 1; }
shift 3
case "$1 $2" in
"show cluster") cat "$folder/clusters" ;;
"show qos") echo "normal||low,lower|100"; echo "low|||0" ;;
"show account") echo "cluster|cluster" ;;
"show user")
    echo "rackwright|other|cluster|normal|normal"
    echo "rackwright|cluster|cluster|normal|low,normal" ;;
*) echo "$@" >> "$folder/calls" ;;
esac
"""
LOW = {"kind": "qos", "name": "low", "fields": {"MaxWall": "", "Preempt": [], "Priority": "0"}}
NORMAL = {
    "kind": "qos",
    "name": "normal",
    "fields": {"MaxWall": "", "Preempt": ["lower", "low"], "Priority": "100"},
}
ACCOUNT = {"kind": "account", "name": "cluster", "fields": {"Organization": "cluster"}}
USER = {
    "kind": "user",
    "name": "rackwright",
    "fields": {
        "Account": "cluster",
        "DefaultAccount": "cluster",
        "DefaultQOS": "normal",
        "QOS": ["normal", "low"],
    },
}


class Accounting:
    def __init__(self, library: Library, folder: Path) -> None:
        self.library, self.folder = library, folder
        (folder / "clusters").write_text("lab-main\n")

    def bring(self, *records: object, check: bool = False) -> dict[str, object]:
        arguments = {"cluster": "lab-main", "records": list(records), "within_s": 0}
        return self.library.run("slurm_accounts", check=check, **arguments)

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def accounting(library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Accounting:
    (tmp_path / "sacctmgr").write_text(SACCTMGR)
    (tmp_path / "sacctmgr").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return Accounting(library, tmp_path)


def test_what_is_so_is_no_change(accounting: Accounting) -> None:
    answer = accounting.bring(LOW, NORMAL, ACCOUNT, USER)
    assert answer["changes"] == []
    assert answer["changed"] is False
    assert accounting.calls == []


def test_what_is_missing_is_added_in_order_without_its_empty_fields(accounting: Accounting) -> None:
    (accounting.folder / "clusters").write_text("")
    answer = accounting.bring({**LOW, "name": "night"}, {**USER, "name": "guest"})
    assert answer["changes"] == ["cluster lab-main: added", "qos night: added", "user guest: added"]
    scope = "cluster=lab-main"
    assert accounting.calls == [
        "add cluster lab-main",
        "add qos night Priority=0",
        f"add user guest {scope} Account=cluster DefaultAccount=cluster DefaultQOS=normal QOS=normal,low",
    ]


def test_only_what_is_wrong_is_modified_and_what_is_no_more_is_cleared(accounting: Accounting) -> None:
    answer = accounting.bring({**NORMAL, "fields": {**NORMAL["fields"], "Priority": "7", "Preempt": []}})  # type: ignore[dict-item]  # (a record's own fields)
    assert answer["changes"] == ["qos normal: Preempt was low,lower, Priority was 100"]
    assert accounting.calls == ["modify qos where name=normal set Preempt=-1 Priority=7"]


def test_check_mode_tells_and_does_nothing(accounting: Accounting) -> None:
    answer = accounting.bring({**LOW, "name": "night"}, check=True)
    assert answer["changes"] == ["qos night: added"]
    assert accounting.calls == []


def test_before_slurmdbd_was_ever_there_check_mode_is_no_failure(accounting: Accounting) -> None:
    (accounting.folder / "down").touch()
    assert accounting.bring(LOW, check=True)["changed"] is True
    answer = accounting.bring(LOW)
    assert "slurmdbd does not serve: sacctmgr: error: Connection refused" in str(answer["msg"])
