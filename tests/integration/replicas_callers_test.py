#!/usr/bin/env python3
"""Callers that are known by their connection to a replica that follows: a user at its Unix socket, a program with a certificate.
Two railweaved with TLS on one PostgreSQL database; the follower says to the leader for whom it speaks, and is believed because it
shows the certificate of a replica. No one else is.

replicas_callers_test.py RAILWEAVED        exit code 77: PostgreSQL or openssl is not installed
"""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import replicas  # noqa: E402
from authority import Authority  # noqa: E402
from postgres_server import server_of  # noqa: E402
from secure_service import SecureService  # noqa: E402
from service import AtSocket, star_netlist  # noqa: E402

BINARY = Path(sys.argv[1]).resolve()
OWN = "root" if os.geteuid() == 0 else f"uid-{os.geteuid()}"
ON_BEHALF = "Railweave-On-Behalf"
PEERS = ("fabric-0.example", "fabric-1.example")
ACCOUNTS = (("robot.example", "administrator", ""), ("agent.example", "operator", ""), ("spiffe://cluster/research?a=1&b", "member", "research"))


class Pair:
    """A leader and a follower, and certificates of all kinds."""

    def __init__(self, folder, url):
        self.folder = folder
        Authority(folder, "servers").issue("server", "localhost", "DNS:localhost,IP:127.0.0.1", usage="serverAuth")
        clients = Authority(folder, "clients")
        self.strangers = Authority(folder, "strangers")
        self.of_replica = [clients.issue(f"replica-{number}", "x", f"DNS:{name}") for number, name in enumerate(PEERS)]
        self.robot = clients.issue("robot", "robot.example")
        self.agent = clients.issue("agent", "agent.example")
        self.member = clients.issue("member", "x", "URI:spiffe://cluster/research?a=1&b")
        self.unknown = clients.issue("unknown", "fabric-1.example.evil")
        self.foreign = self.strangers.issue("foreign", "x", "DNS:fabric-1.example")
        self.replicas = []
        for number in range(2):
            (folder / str(number)).mkdir()
            self.replicas.append(SecureService(BINARY, folder / str(number), url, folder))

    def socket(self, number):
        return AtSocket(self.folder / f"{number}.sock")

    def start(self, number, accounts=ACCOUNTS, speaks=True, lines=""):
        certificate, key = self.of_replica[number]
        own = f'certificate_file = "{certificate}"\nkey_file = "{key}"\npeers = ["{PEERS[0]}", "{PEERS[1]}"]\n' if speaks else ""
        entries = "".join(f'[[access.certificate]]\nname = "{name}"\nrole = "{role}"\n' + (f'tenant = "{tenant}"\n' if tenant else "")
                          for name, role, tenant in accounts)
        self.replicas[number].start(
            f'tls_client_ca = "{self.folder}/clients.pem"\nsocket = "{self.folder}/{number}.sock"\n{lines}'
            f'[replica]\nname = "replica-{number}"\nca_file = "{self.folder}/servers.pem"\n{own}{entries}')

    def token(self):
        return self.replicas[0].token

    def until_followed(self):
        def leader_of(number):
            status, _, answer = self.replicas[number].request("GET", "/v1/leader", connection=self.socket(number))
            return answer.get("leader", {}).get("name") if status == 200 else None
        replicas.eventually("the follower knows the leader", lambda: leader_of(1) == leader_of(0) == "replica-0")

    def trail(self):
        """(actor, token, request id, tenant) of the changes of tenants and jobs, in order, by the leader."""
        status, _, answer = self.replicas[0].ask("GET", "/v1/audit?limit=1000", token=self.token())
        assert status == 200, answer
        return [(item["actor"], item["token"], item["requestId"], item["subject"]["id"]) for item in answer["items"]]


@contextlib.contextmanager
def pair(**options):
    with tempfile.TemporaryDirectory(prefix="railweave-replicas-") as name, contextlib.ExitStack() as stack:
        server = stack.enter_context(server_of())
        two = Pair(Path(name), server.url + "postgres")
        for number in range(2):
            stack.enter_context(two.replicas[number])
            two.start(number, **options.get(f"of_{number}", {}))
        two.until_followed()
        try:
            yield two
        except BaseException:
            for number, service in enumerate(two.replicas):
                print(f"--- replica-{number}\n{service.log_text()[-3000:]}")
            raise


def code(answer):
    return answer[0], answer[2]["code"] if answer[0] >= 400 else None


def spoken_for():
    """Changes at the follower are made by the leader, each recorded for who asked, with the request's id and by the caller's role."""
    with pair() as two:
        leader, follower = two.replicas
        netlist = star_netlist(20)
        status, _, answer = follower.request("PUT", "/v1/fabric/topology?format=ibsim&gpusPerNode=8", netlist, {"Content-Type": "text/plain"},
                                             two.socket(1))
        assert status == 200, answer
        status, headers, _ = follower.request("PUT", "/v1/tenants/research", {}, {"X-Request-Id": "at-socket"}, two.socket(1))
        assert status == 200 and headers["X-Request-Id"] == "at-socket" and int(headers["Railweave-Seq"]) > 0, headers
        assert follower.ask("PUT", "/v1/tenants/other", {}, two.robot, headers={"X-Request-Id": "robot-1"})[0] == 200
        assert follower.ask("PUT", "/v1/tenants/third", {}, token=two.token(), headers={"X-Request-Id": "by-token"})[0] == 200
        status, _, job = follower.ask("POST", "/v1/jobs", {"tenant": "research", "gpus": 8}, two.member,
                                      headers={"X-Request-Id": "member-1", "Idempotency-Key": "one"})
        assert status == 201, job
        again = follower.ask("POST", "/v1/jobs", {"tenant": "research", "gpus": 8}, two.member, headers={"Idempotency-Key": "one"})
        assert again[0] in (200, 201) and again[2]["id"] == job["id"], again
        trail = two.trail()
        for entry in ((OWN, "socket", "at-socket", "research"), ("robot.example", "certificate", "robot-1", "other"),
                      ("administrator", two.token().split("_")[1], "by-token", "third"),
                      ("spiffe://cluster/research?a=1&b", "certificate", "member-1", job["id"])):
            assert entry in trail, (entry, trail)
        # What the follower may not answer itself is asked of the leader too, and If-Match counts there.
        assert follower.request("GET", "/v1/operations", connection=two.socket(1))[0] == 200
        answer = follower.request("PUT", "/v1/tenants/research", {"maxGpus": 5}, {"If-Match": '"research.1"'}, two.socket(1))
        assert code(answer) == (412, "precondition.versionDiffers"), answer
        # Roles hold: of an operator, and of a member, to whom other tenants do not exist.
        assert code(follower.ask("PUT", "/v1/tenants/mine", {}, two.agent)) == (403, "auth.forbidden")
        answer = follower.ask("POST", "/v1/jobs", {"tenant": "other", "gpus": 8}, two.member)
        assert code(answer) == (400, "tenants.unknown"), answer
        status, _, others = follower.request("POST", "/v1/jobs", {"tenant": "other", "gpus": 8}, connection=two.socket(1))
        assert status == 201, others
        assert code(follower.ask("DELETE", f"/v1/jobs/{others['id']}", None, two.member))[0] == 404
        # The follower takes over and knows the same callers; what was forwarded is there.
        assert leader.stop() == 0
        replicas.eventually("the follower leads", lambda: follower.request(
            "PUT", "/v1/tenants/later", {}, connection=two.socket(1))[0] == 200)
        assert follower.ask("GET", "/v1/tenants/other", shown=two.robot)[0] == 200
        two.start(0)
        replicas.eventually("the other way round", lambda: leader.request(
            "PUT", "/v1/tenants/later", {"maxGpus": 3}, connection=two.socket(0))[0] == 200)
        assert leader.ask("PUT", "/v1/tenants/last", {}, two.robot)[0] == 200
    return f"changes by {OWN} at the socket, by three certificates and a token, each recorded for who asked; both replicas in turn"


def roles_are_the_leaders():
    """The replica says who asks; what that one may do is in the configuration of the leader."""
    others = (("robot.example", "viewer", ""), ("agent.example", "operator", ""))
    with pair(of_0={"accounts": others}) as two:
        _, follower = two.replicas
        assert follower.ask("GET", "/v1/whoami", shown=two.robot)[2]["role"] == "administrator"
        assert code(follower.ask("PUT", "/v1/tenants/t", {}, two.robot)) == (403, "auth.forbidden")
        answer = follower.ask("POST", "/v1/jobs", {"tenant": "research", "gpus": 8}, two.member)
        assert code(answer) == (401, "auth.unknownCertificate") and "research" in answer[2]["detail"], answer
    return "an account that the leader does not have is refused, one that may do less may do less"


def forged():
    """The header of anyone but a replica is refused, at either replica, and changes nothing."""
    with pair() as two:
        leader, follower = two.replicas
        root = {ON_BEHALF: "socket root"}
        before = len(two.trail())

        def refused(answer, why):
            assert code(answer) == (403, "auth.onBehalf") and why in answer[2]["detail"], answer

        for service, number in ((leader, 0), (follower, 1)):
            refused(service.ask("PUT", "/v1/tenants/forged", {}, headers=root), "no replica")
            refused(service.ask("PUT", "/v1/tenants/forged", {}, token=two.token(), headers=root), "no replica")
            refused(service.request("PUT", "/v1/tenants/forged", {}, root, two.socket(number)), "no replica")
            for shown in (two.robot, two.agent, two.member, two.unknown):
                refused(service.ask("PUT", "/v1/tenants/forged", {}, shown, headers=root), "no replica")
            refused(service.ask("GET", "/v1/whoami", None, two.agent, headers={ON_BEHALF: "certificate robot.example"}), "no replica")
            try:
                answer = service.ask("PUT", "/v1/tenants/forged", {}, two.foreign, headers=root)
                raise AssertionError(f"a replica's name of another authority: {answer}")
            except OSError:
                pass
        # A replica itself is believed for whom it names, in the one form there is, and is no one without the header.
        of_replica = two.of_replica[1]
        for text in ("", "socket", "socket ", "socket alice", "socket uid-", "socket uid-1x", "socket  root", "Socket root",
                     "certificate", "certificate ", "token root", "oidc alice", "certificate robot%2", "certificate robot%2Eexample",
                     "certificate " + "a" * 2000):
            refused(leader.ask("PUT", "/v1/tenants/forged", {}, of_replica, headers={ON_BEHALF: text}), "for whom")
        refused(leader.ask("PUT", "/v1/tenants/forged", {}, of_replica, token=two.token(), headers=root), "for whom")
        assert code(leader.ask("PUT", "/v1/tenants/forged", {}, of_replica)) == (401, "auth.unknownCertificate")
        for name in ("stranger.example", "fabric-1.example", "robot"):
            answer = leader.ask("PUT", "/v1/tenants/forged", {}, of_replica, headers={ON_BEHALF: f"certificate {name}"})
            assert code(answer) == (401, "auth.unknownCertificate"), answer
        assert len(two.trail()) == before and leader.ask("GET", "/v1/tenants/forged", token=two.token())[0] == 404
        assert leader.ask("PUT", "/v1/tenants/believed", {}, of_replica, headers=root)[0] == 200
        assert two.trail()[-1][:2] == ("root", "socket"), two.trail()[-1]
        # What a client sends to the follower beside its own certificate does not reach the leader as a replica's word.
        assert follower.ask("PUT", "/v1/tenants/plain", {}, two.robot)[0] == 200 and two.trail()[-1][0] == "robot.example"
    return "refused at both replicas: from no one, a token, the socket, four certificates; in 16 wrong forms from a replica"


def limits():
    """The leader counts what the follower sends on for each caller, not for the follower."""
    with pair(of_0={"lines": "requests_per_second = 1\nrequests_at_once = 30\n"}, of_1={"lines": "requests_per_second = 0\n"}) as two:
        _, follower = two.replicas

        def flood(**caller):
            began = time.monotonic()
            for number in range(200):
                status, headers, answer = follower.ask("DELETE", "/v1/tenants/absent", **caller)
                if status == 429:
                    assert answer["code"] == "http.tooManyRequests" and int(headers["Retry-After"]) >= 1, (headers, answer)
                    assert number <= 31 + time.monotonic() - began, number
                    return number
                assert status == 404, answer
            raise AssertionError("200 requests, none refused")

        assert flood(shown=two.robot) >= 29
        assert follower.ask("PUT", "/v1/tenants/t", {}, token=two.token())[0] == 200
        assert follower.request("PUT", "/v1/tenants/t", {"maxGpus": 1}, connection=two.socket(1))[0] == 200
        assert flood(token=two.token()) > 10
        assert follower.request("PUT", "/v1/tenants/t", {"maxGpus": 2}, connection=two.socket(1))[0] == 200
    return "429 after 30 requests of one caller, while others are answered"


def without_certificates():
    """Where replicas have no certificates the answer says what to configure; what does not go together is no configuration."""
    with pair(of_1={"speaks": False}) as two:
        leader, follower = two.replicas
        for answer in (follower.request("PUT", "/v1/tenants/t", {}, connection=two.socket(1)), follower.ask("PUT", "/v1/tenants/t", {}, two.robot)):
            assert code(answer) == (409, "service.notLeader"), answer
            for part in (f":{leader.port}", "show a token", "certificate_file", "key_file", "peers"):
                assert part in answer[2]["hint"], (part, answer)
        assert follower.ask("PUT", "/v1/tenants/t", {}, token=two.token())[0] == 200
        # The leader knows no replica: it says which one it does not know.
        assert follower.stop() == 0 and leader.stop() == 0
        two.start(0, speaks=False)
        replicas.eventually("it leads again", lambda: leader.ask("PUT", "/v1/tenants/t", {}, two.robot)[0] == 200)
        two.start(1)
        two.until_followed()
        answer = follower.ask("PUT", "/v1/tenants/t", {}, two.robot)
        assert code(answer) == (403, "auth.onBehalf") and "fabric-1.example is no replica" in answer[2]["detail"] and "peers" in answer[2]["hint"], answer
        assert follower.ask("PUT", "/v1/tenants/t", {}, token=two.token())[0] == 200
        certificate, key = two.of_replica[0]
        ca = f'tls_client_ca = "{two.folder}/clients.pem"\n'
        for lines in (f'{ca}[replica]\ncertificate_file = "{certificate}"\n', f'{ca}[replica]\nkey_file = "{key}"\n', f'{ca}[replica]\npeers = ["a"]\n',
                      f'{ca}[replica]\ncertificate_file = "{certificate}"\nkey_file = "{key}"\n',
                      f'[replica]\ncertificate_file = "{certificate}"\nkey_file = "{key}"\npeers = ["a"]\n'):
            bad = two.folder / "bad.toml"
            bad.write_text(f'tls_certificate = "{two.folder}/server.pem"\ntls_key = "{two.folder}/server.key"\n{lines}')
            done = subprocess.run([BINARY, "--config", bad, "--listen", "127.0.0.1:0", "--store", two.folder / "bad.db"], capture_output=True,
                                  text=True, timeout=60)
            assert done.returncode in (1, 2) and "go together" in done.stderr, (lines, done)
    return "409 that says what to configure, 403 that says who is not known, 5 configurations refused"


def main():
    if not shutil.which("openssl"):
        print("openssl is missing")
        return 77
    for story in (spoken_for, roles_are_the_leaders, forged, limits, without_certificates):
        if not sys.argv[2:] or story.__name__ in sys.argv[2:]:
            began = time.monotonic()
            print(f"{story.__name__}: {story()} ({time.monotonic() - began:.1f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
