#!/usr/bin/env python3
"""Management keys, as an operator sets them up: the file and its errors, rotation by command across a kill, what is said of devices
that keep no keys (ibsim's are such), and that no secret and no key is in anything that Railweave writes. That devices which do keep
keys let no other program change them is held by tests/unit/infiniband, on a subnet in memory.

management_keys_test.py BIN_FOLDER     exit code 77: skipped, and why
"""
import hashlib
import hmac
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing  # noqa: E402
from ibsim_fabric import SmallFabric  # noqa: E402
from live import LiveService  # noqa: E402

SECRET = "5f" * 32


def key(guid, generation):
    """As config.toml.example says keys are derived; by another implementation."""
    return hmac.new(SECRET.encode(), guid.to_bytes(8, "big") + generation.to_bytes(8, "big"), hashlib.sha256).hexdigest()[:16]


def refused(binaries, folder, netlist, subnet, keys, said):
    """A file that is not right: the subnet says so, with the file and what to do."""
    with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, keys, store=folder / "refused.db") as service:
        service.import_fabric(folder / "fabric.json")
        service.mode("direct")
        status = service.wait("refused", lambda s: s["phase"] == "offline" and said in s["problem"])
        assert "keys" in status["problem"] and SECRET[:8] not in status["problem"], status["problem"]


def written(folder):
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "keys":
            yield path, path.read_bytes()


def main():
    if lacks := missing():
        print(f"skipped: {lacks} is missing")
        return 77
    binaries = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fabric = SmallFabric(leaves=2, spines=2, hosts=2)
        native, netlist = fabric.write(folder)
        subnet = fabric.subnet
        file = folder / "keys"
        keys = f'key_file = "{file}"\nlook_seconds = 1\n'
        refused(binaries, folder, netlist, subnet, keys, "openssl rand -hex 32")
        file.write_text("not hexadecimal\n")
        file.chmod(0o600)
        refused(binaries, folder, netlist, subnet, keys, "line 1")
        file.write_text(SECRET + "\n")
        file.chmod(0o644)
        refused(binaries, folder, netlist, subnet, keys, "chmod 600")
        file.chmod(0o600)
        with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, keys) as service:
            service.import_fabric(native)
            assert service.cli("subnets", "rotate-key", subnet).returncode != 0, "in observe mode there are none"
            service.mode("direct")
            status = service.synced()
            status = service.wait("keys", lambda s: s["managementKeys"])
            shown = status["managementKeys"]
            assert shown["generation"] == 1 and shown["ports"] == status["switches"] + status["adapters"] * 1, status
            assert shown["without"] == shown["ports"] and shown["held"] == shown["locked"] == 0, shown
            service.wait_alarm("keys.notKept")
            said = service.cli("subnets", "rotate-key", subnet, "--reason", "a test")
            assert said.returncode == 0 and "generation 2" in said.stdout, said
            service.wait("rotated", lambda s: s["managementKeys"]["generation"] == 2)
            sheet = service.cli("subnets", "show", subnet).stdout
            assert "held by 0 of" in sheet and "generation 2" in sheet, sheet
            service.signal(signal.SIGKILL)
            service.restart()
            service.synced()
            service.wait("generation", lambda s: s["managementKeys"] and s["managementKeys"]["generation"] == 2)
            assert [event["data"]["generation"] for event in service.events("subnet.keyRotated")] == [2]
            guids = [switch["guid"] for switch in service.get("/v1/switches?limit=100")["items"]]
            everything = list(written(folder)) + [(Path("events"), str(service.events()).encode())]
            service.mode("observe")
            service.wait("given back", lambda s: s["mode"] == "observe" if "mode" in s else s["managementKeys"] is None)
        assert guids
        for path, content in everything:
            for secret in [SECRET, *(key(int(guid, 16), generation) for guid in guids for generation in (1, 2))]:
                assert secret.encode() not in content.lower() and bytes.fromhex(secret) not in content, f"{path} has a key"
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
