"""What labd says of a machine, in words that the emulator's callers can act on."""

from __future__ import annotations

from pathlib import Path

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.lab.aws import machines
from rackwright.lab.aws.emulation import WorldSilent
from rackwright.lab.protocol import LabdSilent


@pytest.mark.parametrize("error", [LabdSilent("nobody"), EnvironmentUnfit("busy disk", code="LAB001")])
def test_a_machine_that_labd_cannot_take_away_is_a_call_to_try_again(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def ask(*_: object) -> None:
        raise error

    monkeypatch.setattr(machines, "ask", ask)
    behind = machines.LabdMachines(Path("/run/nobody"))
    with pytest.raises(WorldSilent, match=r"nobody|busy disk"):
        behind.terminate("i-1")
    assert behind.states() == {}
