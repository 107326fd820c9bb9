"""A real railweaved with TLS and tokens, for tests that show it certificates."""
import http.client
import ssl
import subprocess

from service import Service


class SecureService(Service):
    """certificates: the folder of server.pem and server.key, and of servers.pem, their authority."""

    def __init__(self, binary, folder, store=None, certificates=None):
        super().__init__(binary, folder, store, authentication="tokens")
        self.certificates = certificates or self.folder
        self.token = None

    def start(self, config, *arguments):
        """config: further lines of its configuration."""
        file, token_file = self.folder / "railweaved.toml", self.folder / "admin-token"
        file.write_text(f'tls_certificate = "{self.certificates}/server.pem"\ntls_key = "{self.certificates}/server.key"\n{config}')
        self.log = open(self.folder / "railweaved.log", "ab")
        self.process = subprocess.Popen([self.binary, "--config", file, "--listen", "127.0.0.1:0", "--admin-token-file", token_file,
                                         "--store", self.store or self.folder / "store.db", *arguments],
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        assert "listens at https://" in line, line + self.log_text()
        self.port = int(line.rsplit(":", 1)[1])
        if token_file.exists():
            self.token = token_file.read_text().strip()
        return self

    def ask(self, method, path, body=None, shown=None, token=None, headers=None):
        context = ssl.create_default_context(cafile=self.certificates / "servers.pem")
        if shown:
            context.load_cert_chain(*shown)
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=30, context=context)
        try:
            own = {"Authorization": f"Bearer {token}"} if token else {}
            return self.request(method, path, body, {**own, **(headers or {})}, connection)
        finally:
            connection.close()

    def refused_at_handshake(self, shown):
        try:
            answer = self.ask("GET", "/v1/whoami", shown=shown)
        except (ssl.SSLError, ConnectionError, http.client.RemoteDisconnected):
            return True
        raise AssertionError(answer)
