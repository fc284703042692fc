"""Certificates as an organisation has them: an authority that signs, everything in PEM files."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)
HOST = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])


class Authority:
    """Signs certificates; whoever has ``certificate`` as trust store believes them."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = _named(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        itself = self._builder(self._name, self._key).add_extension(x509.BasicConstraints(True, None), critical=True)
        self.certificate = folder / f"{name}.pem"
        self.certificate.write_bytes(_pem(itself.sign(self._key, hashes.SHA256())))

    def issue(self, name: str, *, password: str | None = None, is_expired: bool = False) -> Path:
        """Return a key store: the private key in PKCS#8, encrypted if there is a password, and its certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        begin = -3 * DAY if is_expired else -DAY
        certificate = self._builder(_named(name), key, begin).add_extension(HOST, critical=False)
        encryption = (
            serialization.NoEncryption()
            if password is None
            else serialization.BestAvailableEncryption(password.encode())
        )
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
        store = self._folder / f"{name}{'-expired' if is_expired else ''}.pem"
        store.write_bytes(private + _pem(certificate.sign(self._key, hashes.SHA256())))
        return store

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, begin: datetime.timedelta = -DAY
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.timezone.utc)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + begin)
            .not_valid_after(now + begin + 2 * DAY)
        )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
