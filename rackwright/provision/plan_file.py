"""`plan.json` in, the plan out: read whole, or refused with what writes it anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from rackwright.errors import UsageError
from rackwright.plan.model import Plan

if TYPE_CHECKING:
    from pathlib import Path


def read(path: Path) -> Plan:
    """The plan of a file.

    Raises:
        UsageError: it is not there, cut, or of another release.
    """
    try:
        return Plan.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError) as error:
        raise UsageError(
            "this is no plan of this release",
            code="PLAN002",
            where=str(path),
            got=_fault(error),
            expected="plan.json as `rackwright plan` writes it",
            hint="rackwright plan SPEC writes it anew",
        ) from None


def _fault(error: OSError | ValidationError | UnicodeDecodeError) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, UnicodeDecodeError):
        return str(error)
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'document'}: {first['msg']}"
