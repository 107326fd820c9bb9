#!/usr/bin/env python3
"""Two railweaved on one database and one simulated subnet, in direct mode: who takes over programs the fabric, and who was
succeeded writes nothing more. What switches hold is read by dump_fts and judged by ibdmchk.

replicas_live_test.py BIN_FOLDER        exit code 77: skipped, and why
"""
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing  # noqa: E402
from live import LiveService, generate  # noqa: E402
from live_subnet_test import SHAPES, cables, fdbs_of_switches, judge  # noqa: E402
from replicas_test import TO_RESTART, server_of  # noqa: E402


def leads(service):
    status, view = service.request("GET", "/v1/leader")
    return status == 200 and view["replica"]["leads"]


def take_over(service, moment):
    while not leads(service):
        assert time.monotonic() < moment + 15, f"{service.config.name} does not take over"
        time.sleep(0.05)


def synced(service, down):
    """All switches hold what the fabric needs with that number of links down."""
    return service.wait("synced", lambda s: s["phase"] == "synced" and s["sync"]["blocksDiffering"] == 0 and s["linksDown"] == down, 30)


def main():
    binaries = Path(sys.argv[1]).resolve()
    lacking = missing() or next((tool for tool in ("dump_fts", "ibdmchk") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is absent")
        return 77
    railweave = str(binaries / "railweave")
    with tempfile.TemporaryDirectory(prefix="railweave-live-") as folder, server_of() as server:
        native, netlist, subnet = generate(railweave, SHAPES["8 hosts"], folder)
        hosts = [line.split('"')[1] for line in Path(netlist).read_text().splitlines() if line.startswith(("Ca", "Hca"))]
        inter = cables(netlist)
        with Ibsim(netlist) as sim:
            options = {"keys": "sweep_seconds = 1", "store": server.url + "postgres"}
            first = LiveService(sim, binaries, folder, subnet, **options, replica="first", host=hosts[0])
            second = LiveService(sim, binaries, folder, subnet, **options, replica="second", host=hosts[-1])
            with first, second:
                assert leads(first) and not leads(second)
                second.import_fabric(native)
                second.mode("direct")
                synced(second, 0)
                problem = judge(sim, second, railweave, netlist, [])
                assert not problem, problem

                # The leader is suspended, then a cable is cut: its successor routes around it.
                first.signal(signal.SIGSTOP)
                moment = time.monotonic()
                cut = [inter[0]]
                sim.console(f'Unlink "{cut[0][0]}"[{cut[0][1]}]')
                take_over(second, moment)
                suspended = time.monotonic() - moment
                synced(second, 1)
                repaired = time.monotonic() - moment
                problem = judge(sim, second, railweave, netlist, cut)
                assert not problem, f"after the take-over: {problem}"
                held = fdbs_of_switches(sim)

                # It wakes up beside its successor: it ends, and the switches hold what they held.
                first.signal(signal.SIGCONT)
                said = first.process.communicate(timeout=60)
                assert first.process.returncode == TO_RESTART, f"ended with {first.process.returncode}:\n{said[1][-2000:]}"
                assert "another railweaved has taken over" in said[1], said[1][-2000:]
                assert fdbs_of_switches(sim) == held, "a leader that was succeeded has written"

                # The other way about, by kill -9.
                first.start()
                assert not leads(first)
                second.signal(signal.SIGKILL)
                moment = time.monotonic()
                cut.append(next(cable for cable in inter if cable[0] not in (cut[0][0],)))
                sim.console(f'Unlink "{cut[1][0]}"[{cut[1][1]}]')
                take_over(first, moment)
                killed = time.monotonic() - moment
                second.process.communicate()
                second.process = None
                synced(first, 2)
                problem = judge(sim, first, railweave, netlist, cut)
                assert not problem, f"after the second take-over: {problem}"
                terms = [event["data"]["name"] for event in first.events("leader.began")]
                assert terms == ["first", "second", "first"], terms
    print(f"taken over {suspended:.1f} s after SIGSTOP, a cut link routed around {repaired:.1f} s after it was cut; {killed:.1f} s after "
          "kill -9; ibdmchk agrees each time, and the one that was succeeded wrote nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
