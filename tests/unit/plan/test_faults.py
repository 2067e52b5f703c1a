"""A code means one thing, wherever it comes from."""

from __future__ import annotations

from collections import Counter

from rackwright.checks.registry import rules
from rackwright.checks.run import RULE_MODULES
from rackwright.plan import faults as plan_faults
from rackwright.spec import faults as spec_faults


def test_no_code_is_given_twice() -> None:
    assert RULE_MODULES
    codes = Counter([*plan_faults.CODES, *spec_faults.CODES, *(rule.code for rule in rules())])
    assert [code for code, count in codes.items() if count > 1] == []


def test_every_code_is_in_the_table() -> None:
    constants = {
        value for name, value in vars(plan_faults).items() if name.isupper() and isinstance(value, str)
    }
    assert constants == set(plan_faults.CODES)
