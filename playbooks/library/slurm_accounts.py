#!/usr/bin/python
"""What Slurm's accounting database holds: the cluster, quality of service, accounts, users."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ansible.module_utils.basic import AnsibleModule  # type: ignore[import-untyped]  # (ansible has no types)

DOCUMENTATION = """
module: slurm_accounts
short_description: Bring records of Slurm's accounting about
description:
  - Compares first and tells truly what it changed; sacctmgr says of what was so already that it modified it.
  - Waits for slurmdbd. Records that are not named stay.
options:
  cluster:
    description: The cluster that accounts and users are associated with; it is registered.
    type: str
    required: true
  records:
    description:
      - In an order in which each can be added. C(kind) is qos, account or user; C(fields) are those of
        C(sacctmgr add), in the spelling of C(sacctmgr show); a list is a set.
    type: list
    elements: dict
    required: true
  within_s:
    description: Seconds to wait for slurmdbd.
    type: int
    default: 60
"""
RETURN = """
changes:
  description: One line for each record that was, or in check mode would be, changed.
  returned: always
  type: list
  elements: str
"""
_EVERY_S = 0.3
_CLEARED = "-1"
"""How sacctmgr is told that a value is no more."""

Value = str | list[str]


@dataclass(frozen=True)
class Kind:
    """How one kind of record is asked for.

    Args:
        name: field that holds its name.
        show: further words of ``show``.
        scope: words that say which cluster.
        fixed: fields that are its identity, given at ``add`` only.
    """

    name: str
    show: tuple[str, ...]
    scope: tuple[str, ...]
    fixed: tuple[str, ...]


def kinds(cluster: str) -> dict[str, Kind]:
    """All kinds."""
    scope = (f"cluster={cluster}",)
    return {
        "qos": Kind("Name", (), (), ()),
        "account": Kind("Account", ("withassoc",), scope, ()),
        "user": Kind("User", ("withassoc",), scope, ("Account",)),
    }


@dataclass(frozen=True)
class Record:
    """One record as it should be."""

    kind: str
    name: str
    fields: dict[str, Value]

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.kind} {self.name}"


class Database:
    """The database through sacctmgr."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.cluster: str = module.params["cluster"]
        self.kinds = kinds(self.cluster)

    def run(self, *words: str) -> list[list[str]]:
        """Rows that sacctmgr prints; a failure ends the module."""
        code, out, err = self._sacctmgr(*words)
        if code != 0:
            self.module.fail_json(msg=f"sacctmgr {' '.join(words)}: {' '.join((err or out).split())}")
        return [line.split("|") for line in out.splitlines()]

    def _sacctmgr(self, *words: str) -> tuple[int, str, str]:
        quiet = ["sacctmgr", "--immediate", "--noheader", "--parsable2"]
        code, out, err = self.module.run_command([*quiet, *words])
        return code, out, err

    def serves(self, within_s: float) -> str:
        """Wait for slurmdbd; what it said last where it does not serve, else empty."""
        ends = time.monotonic() + within_s
        while True:
            code, out, err = self._sacctmgr("show", "cluster", "format=Cluster")
            if code == 0:
                return ""
            if time.monotonic() > ends:
                return " ".join((err or out).split())
            time.sleep(_EVERY_S)

    def registered(self) -> bool:
        """Whether the cluster is."""
        return [self.cluster] in self.run("show", "cluster", "format=Cluster")

    def current(self, record: Record) -> dict[str, str] | None:
        """A record's fields as they are; None where it is not there."""
        kind = self.kinds[record.kind]
        names = [kind.name, *record.fields]
        rows = self.run("show", record.kind, *kind.show, *kind.scope, f"format={','.join(names)}")
        for row in rows:
            found = dict(zip(names, row, strict=False))
            if found[kind.name] == record.name and all(
                found[field] == record.fields[field] for field in kind.fixed
            ):
                return found
        return None

    def add(self, record: Record) -> None:
        """Make it."""
        fields = [f"{key}={_text(value)}" for key, value in record.fields.items() if value]
        self.run("add", record.kind, record.name, *self.kinds[record.kind].scope, *fields)

    def modify(self, record: Record, keys: list[str]) -> None:
        """Put those fields right."""
        kind = self.kinds[record.kind]
        fixed = [f"{key}={_text(record.fields[key])}" for key in kind.fixed]
        fields = [f"{key}={_text(record.fields[key]) or _CLEARED}" for key in keys]
        self.run("modify", record.kind, "where", f"name={record.name}", *kind.scope, *fixed, "set", *fields)


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ",".join(value)


def wrong(record: Record, found: dict[str, str]) -> list[str]:
    """Fields that are not as they should be; a list's order says nothing."""
    return [key for key, value in record.fields.items() if _set(found[key]) != _set(_text(value))]


def _set(text: str) -> set[str]:
    return set(text.split(","))


def bring(database: Database, record: Record, *, check: bool) -> str:
    """Bring one record about, and say what that took; empty where it was so."""
    found = database.current(record)
    if found is None:
        if not check:
            database.add(record)
        return f"{record.title}: added"
    keys = wrong(record, found)
    if not keys:
        return ""
    if not check:
        database.modify(record, keys)
    return f"{record.title}: {', '.join(f'{key} was {found[key] or None}' for key in keys)}"


def converge(database: Database, records: list[Record], *, check: bool) -> list[str]:
    """Bring all about."""
    changes = []
    if not database.registered():
        if not check:
            database.run("add", "cluster", database.cluster)
        changes.append(f"cluster {database.cluster}: added")
    changes += [bring(database, record, check=check) for record in records]
    return [change for change in changes if change]


def main() -> None:
    """Run as a module."""
    spec = {
        "cluster": {"type": "str", "required": True},
        "records": {"type": "list", "elements": "dict", "required": True},
        "within_s": {"type": "int", "default": 60},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    database = Database(module)
    records = [Record(one["kind"], one["name"], one["fields"]) for one in module.params["records"]]
    silence = database.serves(0 if module.check_mode else module.params["within_s"])
    if silence and not module.check_mode:
        module.fail_json(msg=f"slurmdbd does not serve: {silence}; hint: see journalctl -u slurmdbd")
    if silence:
        changes = [f"{record.title}: not known before slurmdbd serves" for record in records]
    else:
        changes = converge(database, records, check=module.check_mode)
    module.exit_json(changed=bool(changes), changes=changes)


if __name__ == "__main__":
    main()
