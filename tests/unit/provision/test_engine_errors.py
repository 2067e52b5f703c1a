"""The engine's own words, as it said them (3.274.1), and what a reader is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from pulumi.automation import CommandError, CommandResult

from rackwright.provision.engine_errors import failure, refused, signal_of

LOG = Path("/state/log/onprem-t-hall-up.txt")

_DECRYPT = "error: getting stack configuration: get stack secrets manager: incorrect passphrase"
_NEW_STACK = "error: could not create secrets manager for new stack: incorrect passphrase"
_CUT = "error: getting stack configuration: get stack secrets manager: malformed state value"
_FULL = "error: could not save checkpoint: write /s/engine/.pulumi/stacks/x.json: no space left on device"
_PROGRAM = """\
Diagnostics:
  pulumi:pulumi:Stack (onprem-t-hall):
    error: Missing required configuration variable 'onprem:plan'
    \tplease set a value using the command `pulumi config set onprem:plan <value>`

error: update failed
"""

_OURS = """\
Diagnostics:
  rackwright:onprem:HostSet (node-u01):
    error: state:bmc-ca.pem: BMC011 the authority cannot be read; got No such file or directory

error: update failed
"""

_JOBS = """\
Diagnostics:
  rackwright:aws:NodeSet (cnode):
    error: cnode-001: EC2009 runs Slurm job 7 of alice; hint drain it, or cancel the job
  rackwright:aws:NodeSet (trn):
    error: trn-003: EC2009 runs Slurm job 8 of bob; hint drain it, or cancel the job

error: update failed
"""

_PREVIEWED = """\
Diagnostics:
  rackwright:onprem:HostSet (head-u01):
    error: Resource monitor has terminated, shutting down
  rackwright:onprem:HostSet (node-u01):
    error: Preview failed: state:bmc-ca.pem: BMC011 the authority cannot be read; got nothing

error: preview failed
"""


def _error(stderr: str = "", stdout: str = "", code: int = 255) -> CommandError:
    return CommandError(CommandResult(stdout, stderr, code))


@pytest.mark.parametrize(
    ("error", "code", "cause"),
    [
        (_error(_DECRYPT), "PULUMI001", "a passphrase that is not the one it was made with"),
        (_error(_NEW_STACK), "PULUMI001", "a passphrase that is not the one it was made with"),
        (_error(_CUT), "PULUMI001", "a salt that is cut"),
        (_error(_FULL), "PULUMI003", "no space left on device"),
        (_error(code=-9), "PULUMI002", "signal 9"),
        (_error(stdout=_PROGRAM), "PULUMI004", "Missing required configuration variable 'onprem:plan'"),
        (_error(stdout=_OURS), "BMC011", "state:bmc-ca.pem: the authority cannot be read"),
        (_error(stdout=_JOBS), "EC2009", "cnode-001: runs Slurm job 7 of alice"),
        (_error(stdout=_JOBS), "EC2009", "trn-003: runs Slurm job 8 of bob"),
        (_error(stdout=_PREVIEWED), "BMC011", "state:bmc-ca.pem: the authority cannot be read; got nothing"),
        (_error("error: update failed"), "PULUMI004", "update failed"),
        (_error(), "PULUMI004", "nothing"),
    ],
)
def test_each_failure_has_its_code_and_its_cause(error: CommandError, code: str, cause: str) -> None:
    told = failure("onprem/t-hall", error, LOG)
    assert (told.subject, told.code) == ("onprem/t-hall", code)
    assert cause in told.cause
    assert told.hint


def test_a_failure_of_no_known_kind_names_the_log() -> None:
    assert str(LOG) in failure("onprem/t-hall", _error("error: odd"), LOG).hint


def test_a_stack_that_cannot_be_opened_is_refused_in_the_same_terms() -> None:
    assert refused("onprem/t-hall", _error(_DECRYPT)).code == "PULUMI001"
    other = refused("onprem/t-hall", _error("error: odd"))
    assert (other.code, other.got, other.exit_code) == ("PULUMI004", "odd", 2)
    assert refused("onprem/t-hall", _error(code=-9)).code == "PULUMI002"


def test_an_exit_status_is_no_signal() -> None:
    assert signal_of(_error(code=255)) == 0
    assert signal_of(_error(code=-15)) == 15
