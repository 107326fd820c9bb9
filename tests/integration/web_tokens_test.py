#!/usr/bin/env python3
"""People with a JSON Web Token of an OpenID Connect provider. Keys and signatures are made by openssl's program.

web_tokens_test.py BIN_FOLDER
"""
import base64
import http.server
import http.client
import json
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import stories  # noqa: E402
from authority import Authority, openssl  # noqa: E402
from service import Service  # noqa: E402

BIN = Path(sys.argv[1]).resolve()
SKEW_S = 60


def encoded(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b"=").decode()


class RsaKey:
    algorithm = "RS256"

    def __init__(self, folder, name, bits=2048):
        self.id, self.file = name, folder / f"{name}.pem"
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{bits}", "-out", self.file)
        modulus = openssl("rsa", "-in", self.file, "-noout", "-modulus").decode().strip().partition("=")[2]
        self.public = {"kty": "RSA", "kid": name, "use": "sig", "alg": "RS256", "n": encoded(bytes.fromhex(modulus)), "e": "AQAB"}

    def sign(self, data):
        return openssl("dgst", "-sha256", "-sign", self.file, data=data)


class EcKey:
    algorithm = "ES256"

    def __init__(self, folder, name, curve="prime256v1", called="P-256", size=32):
        self.id, self.file, self.size = name, folder / f"{name}.pem", size
        openssl("ecparam", "-name", curve, "-genkey", "-noout", "-out", self.file)
        point = openssl("pkey", "-in", self.file, "-pubout", "-outform", "DER")[-2 * size:]
        self.public = {"kty": "EC", "kid": name, "crv": called, "x": encoded(point[:size]), "y": encoded(point[size:])}

    def sign(self, data):
        der = openssl("dgst", "-sha256", "-sign", self.file, data=data)
        at = 2 if der[1] < 0x80 else 3
        parts = []
        for _ in range(2):
            assert der[at] == 2
            parts.append(der[at + 2:at + 2 + der[at + 1]].lstrip(b"\0").rjust(self.size, b"\0"))
            at += 2 + der[at + 1]
        return b"".join(parts)


def token_of(key, claims, **header):
    head = {"alg": key.algorithm, "typ": "JWT", "kid": key.id, **header}
    signed = encoded({name: value for name, value in head.items() if value is not None}) + "." + encoded(claims)
    return signed + "." + encoded(key.sign(signed.encode()))


ISSUER, AUDIENCE = "https://sign-in.example/realms/cluster", "railweave"


def claims(**changed):
    now = int(time.time())
    whole = {"iss": ISSUER, "aud": AUDIENCE, "sub": "4711", "preferred_username": "alice", "iat": now, "nbf": now, "exp": now + 600,
             "realm_access": {"roles": ["offline", "cluster-operators"]}, **changed}
    return {name: value for name, value in whole.items() if value is not None}


def oidc_config(keys, ca_file=""):
    return f'''[access.oidc]
issuer = "{ISSUER}"
audience = "{AUDIENCE}"
keys = "{keys}"
ca_file = "{ca_file}"
name_claim = "preferred_username"
role_claim = "realm_access.roles"
tenant_claim = "tenant"
[access.oidc.roles]
cluster-admins = "administrator"
cluster-operators = "operator"
everyone = "viewer"
researchers = "member"
'''


def from_proxy(service):
    return http.client.HTTPConnection("127.0.0.1", service.port, timeout=30, source_address=("127.0.0.3", 0))


def web_tokens():
    with tempfile.TemporaryDirectory(prefix="railweave-oidc-") as name:
        folder = Path(name)
        rsa, other_rsa, ec = RsaKey(folder, "rsa-1"), RsaKey(folder, "rsa-2"), EcKey(folder, "ec-1")
        small, wide = RsaKey(folder, "small", 1024), EcKey(folder, "wide", "secp384r1", "P-384", 48)
        jwks = folder / "jwks.json"

        def publish(*keys):
            (folder / "jwks.new").write_text(json.dumps({"keys": [key.public for key in keys] + [{"kty": "oct", "kid": "secret", "k": "AAAA"}]}))
            (folder / "jwks.new").rename(jwks)

        publish(rsa, ec, small, wide)
        config = folder / "railweaved.toml"
        config.write_text('trusted_proxies = ["127.0.0.3/32"]\n' + oidc_config(jwks))
        with Service(BIN / "railweaved", folder, authentication="tokens") as service:
            service.start("--config", str(config))

            assert service.request("GET", "/v1/sign-in")[2] == {"tokens": True, "oidc": None}, "no client of the provider is configured"

            def who(token):
                status, headers, answer = service.request("GET", "/v1/whoami", headers={"Authorization": f"Bearer {token}"})
                assert status == 200 or headers["WWW-Authenticate"] == "Bearer", (status, headers)
                return (answer["name"], answer["role"], answer["tenant"], answer["authentication"]) if status == 200 else answer["code"]

            def roles(*names):
                return {"roles": list(names)}

            for key in (rsa, ec):
                for _ in range(2):  # the second time it is known
                    assert who(token_of(key, claims())) == ("alice", "operator", None, "oidc"), key.id
            assert who(token_of(rsa, claims(realm_access=roles("everyone", "cluster-admins")))) == ("alice", "administrator", None, "oidc")
            assert who(token_of(rsa, claims(realm_access=roles("researchers"), tenant="a"))) == ("alice", "member", "a", "oidc")
            assert who(token_of(rsa, claims(aud=["other", AUDIENCE], nbf=None, iat=None))) == ("alice", "operator", None, "oidc")
            now = int(time.time())
            assert who(token_of(rsa, claims(exp=now - SKEW_S + 20)))[0] == "alice", "clocks may differ by a minute"
            assert who(token_of(rsa, claims(nbf=now + SKEW_S - 20, iat=now + SKEW_S - 20)))[0] == "alice"
            # Every alteration is refused.
            good = token_of(rsa, claims())
            head, body, signature = good.split(".")
            ec_head, ec_body, ec_signature = token_of(ec, claims()).split(".")
            admin = encoded(claims(realm_access=roles("cluster-admins")))
            none = encoded({"alg": "none", "typ": "JWT", "kid": "rsa-1"})
            public_pem = openssl("pkey", "-in", rsa.file, "-pubout")
            as_secret = encoded({"alg": "HS256", "typ": "JWT", "kid": "rsa-1"}) + "." + admin
            mac = openssl("dgst", "-sha256", "-mac", "HMAC", "-macopt", "hexkey:" + public_pem.hex(), "-binary", data=as_secret.encode())
            flipped = base64.urlsafe_b64decode(signature + "==")
            flipped = encoded(bytes([flipped[0] ^ 1]) + flipped[1:])
            refused = {
                "another payload": (f"{head}.{admin}.{signature}", "auth.invalid"),
                "another signature": (f"{head}.{body}.{flipped}", "auth.invalid"),
                "no signature": (f"{head}.{body}.", "auth.invalid"),
                "zeros for a signature of ECDSA": (f"{ec_head}.{ec_body}.{encoded(bytes(64))}", "auth.invalid"),
                "a short signature of ECDSA": (f"{ec_head}.{ec_body}.{ec_signature[:40]}", "auth.invalid"),
                "RSA's signature under ECDSA's head": (f"{ec_head}.{ec_body}.{signature}", "auth.invalid"),
                "alg none": (f"{none}.{admin}.", "auth.invalid"),
                "alg none, with a signature": (f"{none}.{admin}.{signature}", "auth.invalid"),
                "alg None": (encoded({"alg": "None"}) + f".{admin}.", "auth.invalid"),
                "HS256 with the public key": (f"{as_secret}.{encoded(mac)}", "auth.invalid"),
                "RS512": (token_of(rsa, claims(), alg="RS512"), "auth.invalid"),
                "no alg": (token_of(rsa, claims(), alg=None), "auth.invalid"),
                "ES256 with the name of RSA's key": (token_of(ec, claims(), kid="rsa-1"), "auth.unknownKey"),
                "another provider's key": (token_of(other_rsa, claims(), kid="rsa-1"), "auth.invalid"),
                "unknown kid": (token_of(other_rsa, claims()), "auth.unknownKey"),
                "a small key": (token_of(small, claims()), "auth.unknownKey"),
                "wrong curve": (token_of(wide, claims()), "auth.unknownKey"),
                "a key of its own": (token_of(other_rsa, claims(), kid="rsa-1", jwk=other_rsa.public, jku="https://evil.example"), "auth.invalid"),
                "an extension that must be understood": (token_of(rsa, claims(), crit=["b64"], b64=False), "auth.invalid"),
                "wrong aud": (token_of(rsa, claims(aud="other")), "auth.invalid"),
                "no aud": (token_of(rsa, claims(aud=None)), "auth.invalid"),
                "aud in a longer text": (token_of(rsa, claims(aud=AUDIENCE + "-2")), "auth.invalid"),
                "wrong iss": (token_of(rsa, claims(iss=ISSUER + "/")), "auth.invalid"),
                "no iss": (token_of(rsa, claims(iss=None)), "auth.invalid"),
                "expired": (token_of(rsa, claims(exp=now - SKEW_S - 5)), "auth.expired"),
                "no exp": (token_of(rsa, claims(exp=None)), "auth.invalid"),
                "exp as text": (token_of(rsa, claims(exp=str(now + 600))), "auth.invalid"),
                "exp beyond all numbers": (token_of(rsa, claims(exp=1e300)), "auth.invalid"),
                "not yet valid": (token_of(rsa, claims(nbf=now + SKEW_S + 30)), "auth.notYetValid"),
                "issued later": (token_of(rsa, claims(iat=now + SKEW_S + 30)), "auth.notYetValid"),
                "no sub": (token_of(rsa, claims(sub=None)), "auth.invalid"),
                "no name": (token_of(rsa, claims(preferred_username=None)), "auth.invalid"),
                "a name of two lines": (token_of(rsa, claims(preferred_username="a\nb")), "auth.invalid"),
                "the service's own name": (token_of(rsa, claims(preferred_username="railweave")), "auth.invalid"),
                "no role": (token_of(rsa, claims(realm_access=roles("offline"))), "auth.noRole"),
                "roles of another form": (token_of(rsa, claims(realm_access={"roles": {"cluster-admins": True}})), "auth.noRole"),
                "a member of no tenant": (token_of(rsa, claims(realm_access=roles("researchers"))), "auth.noRole"),
                "no claims": (token_of(rsa, []), "auth.invalid"),
                "a huge token": (token_of(rsa, claims(more="x" * 8000)), "auth.invalid"),
                "two parts": (f"{head}.{body}", "auth.invalid"),
                "no base64": (f"{head}.{body}!.{signature}", "auth.invalid"),
                "dots": ("..", "auth.invalid"),
            }
            for what, (token, code) in refused.items():
                assert who(token) == code, (what, who(token))
            double = (encoded({"alg": "RS256", "kid": "rsa-1"}) + "." +
                      encoded(json.dumps(claims())[:-1].encode() + b', "realm_access": {"roles": ["cluster-admins"]}}'))
            assert who(double + "." + encoded(rsa.sign(double.encode()))) == "auth.invalid", "a claim that is there twice"
            # What people do is recorded for them, and their tokens are nowhere.
            admin_token = token_of(rsa, claims(realm_access=roles("cluster-admins"), preferred_username="bob"))
            bearer = {"Authorization": f"Bearer {admin_token}"}
            assert service.request("PUT", "/v1/tenants/a", {}, bearer)[0] == 200
            trail = service.request("GET", "/v1/audit?kind=tenant.put", headers=bearer)[2]["items"]
            assert [(item["actor"], item["token"]) for item in trail] == [("oidc:bob", "oidc")], trail
            # A name that a claim took from someone else is not taken for theirs.
            first = (folder / "store.db.admin-token").read_text().strip()
            theirs = {"Authorization": f"Bearer {token_of(rsa, claims(realm_access=roles('cluster-admins'), preferred_username='administrator'))}"}
            for description, headers, actor in (("of the token", {"Authorization": f"Bearer {first}"}, "administrator"), ("of the claim", theirs, "oidc:administrator")):
                assert service.request("PUT", "/v1/tenants/a", {"description": description}, headers)[0] == 200
                item = service.request("GET", f"/v1/audit?kind=tenant.put&actor={actor}", headers=bearer)[2]["items"][-1]
                event = service.request("GET", f"/v1/events?after={item['seq'] - 1}&limit=1", headers=bearer)[2]["items"][0]
                assert event["data"]["description"] == description and event["actor"] == actor, event
            status, _, answer = service.request("POST", "/v1/tokens", {"name": "railweave", "role": "viewer"}, bearer)
            assert status == 400 and "calls itself" in answer["errors"][0]["detail"], answer
            assert signature not in service.log_text() and admin_token.split(".")[2] not in service.log_text()
            first = (folder / "store.db.admin-token").read_text().strip()
            assert who(first)[1] == "administrator", "the service's own tokens are known as before"
            # Keys that are published again by others are known soon, and what a withdrawn key signed is not.
            assert who(good)[0] == "alice"
            publish(other_rsa, ec)
            until = time.monotonic() + 20
            while who(token_of(other_rsa, claims())) == "auth.unknownKey":
                assert time.monotonic() < until, service.log_text()[-2000:]
                time.sleep(0.2)
            assert who(good) == "auth.unknownKey" and who(token_of(ec, claims()))[0] == "alice"
            jwks.write_text("no keys")
            time.sleep(2.5)  # longer than between two looks at the file
            assert who(token_of(other_rsa, claims()))[0] == "alice", "what cannot be read leaves those of before in use"
            assert "those of before stay in use" in service.log_text()
            # Who shows bad tokens without end is told to wait; good ones go on, also new ones from the same address.
            known = token_of(ec, claims())
            fresh = [token_of(ec, claims(jti=f"new-{number}")) for number in range(20)]
            assert who(known)[0] == "alice"
            answers = [service.request("GET", "/v1/whoami", headers={"Authorization": f"Bearer {head}.{body}.{number}"})[0] for number in range(400)]
            assert answers.count(429) > 50 and set(answers) == {401, 429}, answers[:20]
            assert who(known)[0] == "alice"
            for number, token in enumerate(fresh):
                bad = [service.request("GET", "/v1/whoami", headers={"Authorization": f"Bearer {head}.{body}.x{number}"})[0] for _ in range(10)]
                assert 429 in bad and set(bad) <= {401, 429} and who(token)[0] == "alice", (number, bad)
            # Behind a proxy that is trusted each client is told so for itself.
            def bad_from(address):
                shown = {"Authorization": f"Bearer {head}.{body}.y", "X-Forwarded-For": f"203.0.113.9, {address}"}
                status, _, answer = service.request("GET", "/v1/whoami", headers=shown, connection=from_proxy(service))
                assert status == 401 or answer["detail"].endswith(f" from {address}"), answer
                return status
            assert [bad_from("192.0.2.7") for _ in range(400)].count(429) > 50
            assert bad_from("192.0.2.8") == 401
            assert service.stop() == 0


class Provider:
    """Publishes keys over https."""

    def __init__(self, folder, keys):
        self.asked = 0
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                provider.asked += 1
                body = json.dumps({"keys": [key.public for key in keys]}).encode()
                self.send_response(200 if self.path == "/realms/cluster/certs" else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem", folder / "server.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"https://localhost:{self.server.server_port}/realms/cluster/certs"


def published_keys():
    with tempfile.TemporaryDirectory(prefix="railweave-provider-") as name:
        folder = Path(name)
        Authority(folder, "servers").issue("server", "localhost", "DNS:localhost", usage="serverAuth")
        key, unknown = RsaKey(folder, "k1"), RsaKey(folder, "k2")
        provider = Provider(folder, [key])
        config = folder / "railweaved.toml"

        def who(service, token):
            return service.request("GET", "/v1/whoami", headers={"Authorization": f"Bearer {token}"})

        with Service(BIN / "railweaved", folder, authentication="tokens") as service:
            config.write_text(oidc_config(provider.url, folder / "servers.pem"))
            service.start("--config", str(config))
            assert who(service, token_of(key, claims()))[0] == 200, service.log_text()
            for _ in range(5):  # of a key that is not known the provider is asked at most once a minute
                assert who(service, token_of(unknown, claims()))[2]["code"] == "auth.unknownKey"
                time.sleep(0.3)
            assert provider.asked == 1, provider.asked
            assert service.stop() == 0
            # A provider that is not trusted gives no keys: its users wait, the others do not.
            config.write_text(oidc_config(provider.url))
            service.start("--config", str(config))
            status, headers, answer = who(service, token_of(key, claims()))
            assert (status, answer["code"]) == (503, "auth.noKeys") and int(headers["Retry-After"]) > 0, answer
            assert "certificate is not trusted" in service.log_text(), service.log_text()[-1000:]
            assert who(service, (folder / "store.db.admin-token").read_text().strip())[0] == 200
            assert service.stop() == 0
        provider.server.shutdown()
        jwks_file = str(folder / "none.json")
        console = folder / "console"
        console.mkdir()
        (console / "index.html").write_text("<!doctype html>")
        with Service(BIN / "railweaved", folder, authentication="tokens") as service:
            config.write_text(oidc_config(jwks_file)
                              .replace('ca_file = ""', 'client_id = "console"\nresource = "urn:railweave"\nscope = "openid email"'))
            service.start("--config", str(config), "--console", str(console))
            assert service.request("GET", "/v1/sign-in")[2] == {"tokens": True, "oidc": {
                "issuer": ISSUER, "clientId": "console", "scope": "openid email", "resource": "urn:railweave", "bearer": "accessToken"}}
            policy = service.request("GET", "/console")[1]["Content-Security-Policy"]
            origin = "/".join(ISSUER.split("/")[:3])
            assert f"connect-src 'self' {origin};" in policy and policy.count(origin) == 1, policy
            assert service.stop() == 0
        with_client = oidc_config(jwks_file).replace('ca_file = ""', f'client_id = "{AUDIENCE}"')
        for lines, why in ((oidc_config("http://sign-in.example/keys"), "over https"), ('[access.oidc]\nissuer = "x"\n', "needs issuer"),
                           (oidc_config("jwks.json").replace('"viewer"', '"king"'), "no role 'king'"),
                           (with_client.replace(ISSUER, "http://sign-in.example"), "the issuer is an https URL"),
                           (with_client.replace(ISSUER, "https://a.example; script-src *"), "the issuer is an https URL"),
                           (oidc_config("jwks.json").replace("tenant_claim", "tenants_claim"), "no key 'tenants_claim'")):
            config.write_text(lines)
            done = subprocess.run([BIN / "railweaved", "--config", config], capture_output=True, text=True, timeout=60)
            assert done.returncode == 2 and why in done.stderr, (lines, done)


if __name__ == "__main__":
    sys.exit(stories.tell((web_tokens, published_keys), needs=["openssl"]))
