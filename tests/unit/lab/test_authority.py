"""The lab's own authority vouches for each BMC's address, and is made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from rackwright.lab import authority

if TYPE_CHECKING:
    from pathlib import Path


def _verify(folder: Path, address: str, signer: authority.Authority) -> None:
    from ipaddress import ip_address  # noqa: PLC0415 (for this one call)

    certificate = x509.load_pem_x509_certificate((folder / authority.CERTIFICATE).read_bytes())
    store = Store([signer.certificate])
    subject = x509.IPAddress(ip_address(address))
    PolicyBuilder().store(store).build_server_verifier(subject).verify(certificate, [])


def test_a_certificate_holds_for_its_own_address_and_authority(tmp_path: Path) -> None:
    ours, others = (authority.authority(tmp_path / name, name) for name in ("ours", "others"))
    authority.certify(tmp_path / "bmc", "10.77.1.17", ours)
    _verify(tmp_path / "bmc", "10.77.1.17", ours)
    with pytest.raises(VerificationError):
        _verify(tmp_path / "bmc", "10.77.1.18", ours)
    with pytest.raises(VerificationError):
        _verify(tmp_path / "bmc", "10.77.1.17", others)


def test_keys_and_certificates_are_made_once_and_keys_are_closed(tmp_path: Path) -> None:
    first = authority.authority(tmp_path / "ca", "lab")
    authority.certify(tmp_path / "bmc", "10.77.1.17", first)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.pem")}
    again = authority.authority(tmp_path / "ca", "lab")
    authority.certify(tmp_path / "bmc", "10.77.1.17", again)
    assert again.pem == first.pem
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.pem")} == before
    assert {path.stat().st_mode & 0o077 for path in tmp_path.rglob("key.pem")} == {0}


def test_a_run_that_was_cut_off_between_key_and_certificate_goes_on(tmp_path: Path) -> None:
    whole = authority.authority(tmp_path / "ca", "lab")
    (tmp_path / "ca" / authority.CERTIFICATE).unlink()
    again = authority.authority(tmp_path / "ca", "lab")
    authority.certify(tmp_path / "bmc", "10.77.1.17", again)
    _verify(tmp_path / "bmc", "10.77.1.17", again)
    assert again.key.private_numbers() == whole.key.private_numbers()
