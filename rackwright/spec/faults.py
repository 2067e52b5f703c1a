"""Codes of everything that can be wrong with a spec before a rule looks at it."""

from __future__ import annotations

UNREADABLE = "SPEC001"
INVALID = "SPEC002"
MISSING_KEY = "SPEC010"
UNKNOWN_KEY = "SPEC011"
WRONG_TYPE = "SPEC012"
UNKNOWN_VALUE = "SPEC013"
OUT_OF_RANGE = "SPEC014"
WRONG_FORM = "SPEC015"
MISFIT = "SPEC016"
DUPLICATE_KEY = "SPEC017"
INCLUDE_CONFLICT = "SPEC018"
INCLUDE_CYCLE = "SPEC019"
ASSET_FILE = "ASSET001"
ASSET_COLUMN = "ASSET002"
ASSET_VALUE = "ASSET003"
ASSET_DUPLICATE = "ASSET004"
ASSET_SLOT = "ASSET005"

CODES = {
    UNREADABLE: "not a file, not readable, not UTF-8 or not YAML",
    INVALID: "the spec as a whole: it has findings",
    MISSING_KEY: "a key that is needed is missing",
    UNKNOWN_KEY: "a key that nothing knows",
    WRONG_TYPE: "a value of another type",
    UNKNOWN_VALUE: "a value that is none of the known ones",
    OUT_OF_RANGE: "a number or a length outside its bounds",
    WRONG_FORM: "a text that does not have its form",
    MISFIT: "values that do not fit together within one part of the spec",
    DUPLICATE_KEY: "a key given twice in one map",
    INCLUDE_CONFLICT: "a value given in two included files",
    INCLUDE_CYCLE: "a file that includes itself, directly or through others",
    ASSET_FILE: "an asset file that cannot be read or has no rows",
    ASSET_COLUMN: "a column that is missing, unknown or given twice",
    ASSET_VALUE: "a value that does not have its column's form",
    ASSET_DUPLICATE: "a slot, serial or address given twice in one site",
    ASSET_SLOT: "a row for a slot that no pool has",
}
"""Stable: scripts and suppressions name them. A number is never used again."""
