#!/usr/bin/env python3
"""What routes for each host are worth beside switches that hash flows, on real packets: two leaves, four spines and eight hosts as network
namespaces, every cable of one rate. Each host sends the same to its partner behind the other leaf, all at once, as a ring of an all-reduce does;
a step is over when the last has got everything.

First the leaves' kernels hash flows over their spines (fib_multipath_hash_policy 1: addresses and ports, as switches do), each step with other
ports. Then they have the routes that `railweave switches config --to routes` makes of what a real railweaved plans, and nothing else.

host_routes_test.py BIN_FOLDER [STEPS]     exit code 77: skipped, and why
"""
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from lane_traffic_test import inside, run  # noqa: E402
from routed_network import Network  # noqa: E402
from service import Service  # noqa: E402

PARTNER = {f"n{number}": f"n{number + 4 if number <= 4 else number - 4}" for number in range(1, 9)}


def program(network, binaries, url, folder):
    """What Railweave plans, as its own command makes it."""
    for switch in network.switches:
        names = folder / f"{switch}.json"
        names.write_text(json.dumps({"addresses": network.addresses(), "interfaces": network.interfaces(switch)}))
        script = run(str(binaries / "railweave"), "--server", url, "switches", "config", switch, "--to", "routes", "--names", str(names)).stdout
        inside(switch, "sh", "-e", "-c", script)


def steps(network, count):
    """Of all hosts, and of two alone."""
    with network.exchanging(PARTNER) as ring:
        return [ring.step() for _ in range(count)], statistics.median(ring.step(("n1", "n5")) for _ in range(3))


def main():
    lacking = next((tool for tool in ("ip", "tc", "sysctl") if not shutil.which(tool)), None)
    if lacking or os.geteuid() != 0:
        print(f"skipped: {lacking or 'needs to be root'}")
        return 77
    binaries, count = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 6
    network = Network(hosts=8, spines=4)
    with tempfile.TemporaryDirectory(prefix="railweave-hr-") as name:
        folder = Path(name)
        (folder / "fabric.json").write_text(json.dumps(network.fabric()))
        try:
            network.build()
            network.hash_flows()
            hashed, alone = steps(network, count)
            network.flush()
            with Service(binaries / "railweaved", folder) as service:
                service.start()
                url = f"http://127.0.0.1:{service.port}"
                run(str(binaries / "railweave"), "--server", url, "fabric", "import", str(folder / "fabric.json"))
                program(network, binaries, url, folder)
            for leaf in network.leaves:
                used = [network.next_node(leaf, host) for host in network.of_leaf(network.other_leaf(leaf))]
                assert sorted(used) == list(network.spines), used
            routed, _ = steps(network, count)
        finally:
            network.remove()
    print(f"two hosts alone: {alone:.2f} s a step")
    for what, times in (("hashed", hashed), ("routes for each host", routed)):
        print(f"{what}: {statistics.mean(times) / alone:.2f} times that, {min(times) / alone:.2f} to {max(times) / alone:.2f}, {len(times)} steps")
    gain = statistics.mean(hashed) / statistics.mean(routed)
    print(f"steps are {gain:.2f} times as fast")
    assert statistics.median(routed) < 1.3 * alone, (routed, alone)
    assert gain > 1.2, gain
    return 0


if __name__ == "__main__":
    sys.exit(main())
