"""The lab's certificate authority, and a certificate for the address of each BMC.

Each file is made once and written in one step: what is cut off on the way is made again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from rackwright.canonical import write_atomic
from rackwright.lab import kept

if TYPE_CHECKING:
    from pathlib import Path

_VALID = timedelta(days=3650)
_CLOCK_SKEW = timedelta(days=1)
KEY, CERTIFICATE = "key.pem", "cert.pem"


@dataclass(frozen=True, slots=True)
class Authority:
    """Who signs."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> str:
        """The certificate, for those who verify."""
        return self.certificate.public_bytes(Encoding.PEM).decode()


def authority(folder: Path, cluster: str) -> Authority:
    """The authority that a folder holds, made where there is none."""
    key = _key(folder / KEY)
    path = folder / CERTIFICATE
    if not path.exists():
        write_atomic(path, _self_signed(key, cluster).public_bytes(Encoding.PEM))
    with kept.read_from(path):
        return Authority(key, x509.load_pem_x509_certificate(path.read_bytes()))


def certify(folder: Path, address: str, signer: Authority) -> None:
    """Make key and certificate of a server at an address, where they are not there yet."""
    path = folder / CERTIFICATE
    key = _key(folder / KEY)
    if not path.exists():
        write_atomic(path, _server(key, address, signer).public_bytes(Encoding.PEM))


def _key(path: Path) -> ec.EllipticCurvePrivateKey:
    if not path.exists():
        new = ec.generate_private_key(ec.SECP256R1())
        pem = new.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        write_atomic(path, pem, mode=0o600)
    with kept.read_from(path):
        key = load_pem_private_key(path.read_bytes(), password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            msg = "no elliptic-curve key"
            raise TypeError(msg)
        return key


def _builder(subject: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _self_signed(key: ec.EllipticCurvePrivateKey, cluster: str) -> x509.Certificate:
    subject = f"rackwright lab {cluster}"
    usage = _usage(sign_certificates=True)
    builder = _builder(subject, _name(subject), key)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return builder.add_extension(usage, critical=True).sign(key, hashes.SHA256())


def _server(key: ec.EllipticCurvePrivateKey, address: str, signer: Authority) -> x509.Certificate:
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
    signer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
    builder = _builder(address, signer.certificate.subject, key)
    builder = builder.add_extension(names, critical=False).add_extension(signer_id, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(sign_certificates=False), critical=True)
    purpose = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    return builder.add_extension(purpose, critical=False).sign(signer.key, hashes.SHA256())


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign_certificates,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
