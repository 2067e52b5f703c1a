"""A certificate authority for doubles: it signs for addresses, a whole /24 at a time."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from ipaddress import IPv4Address
    from pathlib import Path

_DAY = timedelta(days=1)


class Authority:
    """Signs server certificates; all of them share one key."""

    def __init__(self, folder: Path, name: str = "bmc-ca") -> None:
        self._folder = folder
        self._writing = threading.Lock()
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = self._signed(self._name, self._key, _authority_extensions(self._key))
        self.pem = folder / f"{name}.pem"
        self.pem.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def chain_for(self, address: str) -> Path:
        """PEM of key and certificate for all addresses of this one's /24."""
        network = IPv4Network(f"{address}/24", strict=False)
        path = self._folder / f"{self.pem.stem}-{network.network_address}.pem"
        # Controllers answer in threads, and the first ones of a /24 ask for it at the same moment.
        with self._writing:
            if not path.exists():
                path.write_bytes(self._leaf(list(network)))
        return path

    def _leaf(self, addresses: list[IPv4Address]) -> bytes:
        names = x509.SubjectAlternativeName([x509.IPAddress(address) for address in addresses])
        certificate = self._signed(x509.Name([]), self._leaf_key, [(names, True), *self._identifier()])
        return self._leaf_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ) + certificate.public_bytes(serialization.Encoding.PEM)

    def _identifier(self) -> list[tuple[x509.ExtensionType, bool]]:
        return [(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), False)]

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        extensions: list[tuple[x509.ExtensionType, bool]],
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - _DAY).not_valid_after(now + 30 * _DAY)
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(self._key, hashes.SHA256())


def _authority_extensions(key: ec.EllipticCurvePrivateKey) -> list[tuple[x509.ExtensionType, bool]]:
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    return [
        (x509.BasicConstraints(ca=True, path_length=0), True),
        (usage, True),
        (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
    ]
