# SPDX-License-Identifier: Apache-2.0
"""A CA and the certificates that the parts of a control plane show each other, by openssl."""
import pathlib
import subprocess
import time


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Pki:
    """Of a directory: a new CA, or the one that is there."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.ca = self.directory / "ca.crt"
        if self.directory.exists():
            return
        self.directory.mkdir(mode=0o700)
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", 2,
                "-subj", "/CN=e2e", "-keyout", self.directory / "ca.key", "-out", self.ca)
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.service_account_key)

    @property
    def service_account_key(self):
        return self.directory / "service-account.key"

    def issue(self, name, user, group="", addresses=()):
        """Certificate and key for `user`, in `group`; a server's with its addresses."""
        certificate, key = self.directory / f"{name}.crt", self.directory / f"{name}.key"
        request, extensions = self.directory / f"{name}.csr", self.directory / f"{name}.ext"
        subject = (f"/O={group}" if group else "") + f"/CN={user}"
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", subject,
                "-keyout", key, "-out", request)
        names = ",".join(addresses)
        extensions.write_text("extendedKeyUsage=serverAuth,clientAuth\n" +
                              (f"subjectAltName={names}\n" if names else ""))
        openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.directory / "ca.key", "-days", 2,
                "-set_serial", time.time_ns(), "-extfile", extensions, "-out", certificate)
        return certificate, key
