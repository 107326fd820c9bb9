"""Certificates, made by openssl's program."""
import subprocess


def openssl(*words, data=None):
    return subprocess.run(["openssl", *map(str, words)], input=data, check=True, capture_output=True).stdout


class Authority:
    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", 2, "-keyout",
                folder / f"{name}.key", "-out", folder / f"{name}.pem", "-subj", f"/CN={name}")

    def revoke(self, certificate):
        """The list of revocations with this one, PEM."""
        index, config, crl = (self.folder / f"{self.name}.{end}" for end in ("index", "cnf", "crl"))
        index.touch()
        config.write_text(f"[ca]\ndefault_ca=own\n[own]\ndatabase={index}\ndefault_md=sha256\ndefault_crl_days=2\n")
        of = ("ca", "-config", config, "-cert", self.folder / f"{self.name}.pem", "-keyfile", self.folder / f"{self.name}.key")
        openssl(*of, "-revoke", certificate)
        openssl(*of, "-gencrl", "-out", crl)
        return crl.read_text()

    def issue(self, file, common_name, names=None, days=2, usage="clientAuth"):
        key, request, extensions = (self.folder / f"{file}.{end}" for end in ("key", "csr", "ext"))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", request,
                "-subj", f"/CN={common_name}")
        extensions.write_text(f"extendedKeyUsage={usage}\n" + (f"subjectAltName={names}\n" if names else ""))
        openssl("x509", "-req", "-in", request, "-CA", self.folder / f"{self.name}.pem", "-CAkey", self.folder / f"{self.name}.key",
                "-CAcreateserial", "-days", days, "-extfile", extensions, "-out", self.folder / f"{file}.pem")
        return self.folder / f"{file}.pem", key
