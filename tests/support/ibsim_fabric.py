"""A small two-level fabric written by the test itself: as native JSON to be accepted, and as a netlist for ibsim whose links may run
more slowly than that, and which may have devices that nothing is plugged into.

    fabric = SmallFabric(leaves=4, spines=4, hosts=3)
    native, netlist = fabric.write(folder, slow={end: "1xSDR" for end in fabric.uplinks(0)}, spares=[...])
"""
import json
from pathlib import Path

LEAF, SPINE, HOST, APART = 0x10000, 0x20000, 0x90000, 16  # ibsim gives ports the GUIDs that follow


def switch_id(guid):
    return f"S-{guid:016x}"


def host_id(guid):
    return f"H-{guid:016x}"


class SmallFabric:
    """Ports of a leaf: hosts from 1, then spines; `free` more that nothing is plugged into."""

    def __init__(self, leaves=4, spines=4, hosts=3, gpus=4, free=2, speed="EDR", subnet="compute"):
        self.subnet, self.speed, self.gpus, self.hosts, self.spines = subnet, speed, gpus, hosts, spines
        self.switches = [(LEAF + at * APART, f"leaf-{at}", hosts + spines + free) for at in range(leaves)]
        self.switches += [(SPINE + at * APART, f"spine-{at}", leaves + free) for at in range(spines)]
        self.adapters = [(HOST + at * APART, f"n{at:03}") for at in range(leaves * hosts)]
        # ((device's id, port), (device's id, port))
        self.cables = [((switch_id(LEAF + at // hosts * APART), at % hosts + 1), (host_id(HOST + at * APART), 1)) for at in range(leaves * hosts)]
        self.cables += [((switch_id(LEAF + leaf * APART), hosts + 1 + spine), (switch_id(SPINE + spine * APART), leaf + 1))
                        for leaf in range(leaves) for spine in range(spines)]

    def uplinks(self, leaf):
        return [(switch_id(LEAF + leaf * APART), self.hosts + 1 + spine) for spine in range(self.spines)]

    def write(self, folder, slow=None, spares=()):
        """(native file, netlist). slow: by either end, the speed that the link really has. spares: (id, ports, description)."""
        native, netlist = Path(folder) / "fabric.json", Path(folder) / "fabric.net"
        native.write_text(json.dumps(self.native()))
        netlist.write_text(self.netlist(slow or {}, spares))
        return native, netlist

    def native(self):
        number = {switch_id(guid): at for at, (guid, _, _) in enumerate(self.switches)}
        number.update({host_id(guid): len(self.switches) + at for at, (guid, _) in enumerate(self.adapters)})
        return {
            "railweave": "fabric", "version": 1, "subnets": [{"name": self.subnet}],
            "nvlinkDomains": [{"name": name, "rateMbps": 3_600_000} for _, name in self.adapters],
            "switches": [{"guid": f"{guid:016x}", "name": name, "ports": ports, "subnet": self.subnet} for guid, name, ports in self.switches],
            "hosts": [{"name": name, "adapters": [{"guid": f"{guid:016x}", "device": "mlx5_0", "ports": [{"guid": f"{guid + 1:016x}"}]}],
                       "gpus": [{"domain": name, "nics": [0]} for _ in range(self.gpus)]} for guid, name in self.adapters],
            "linkSpecs": [{"speed": self.speed, "width": 4}],
            "links": [[number[a], port, number[b], peer_port, 0] for (a, port), (b, peer_port) in self.cables],
        }

    def netlist(self, slow, spares):
        called = {switch_id(guid): (name, ports) for guid, name, ports in self.switches}
        called.update({host_id(guid): (f"{name} mlx5_0", 1) for guid, name in self.adapters})
        ends = {device: {} for device in called}
        for one, other in self.cables:
            speed = slow.get(one) or slow.get(other) or f"4x{self.speed}"
            for (device, port), peer in ((one, other), (other, one)):
                ends[device][port] = (peer, speed)
        for device, ports, description in spares:
            called[device], ends[device] = (description, ports), {}
        lines = ["# ibsim netlist of a test"]
        for device, (name, ports) in called.items():
            guid = device[2:]
            if device.startswith("S-"):
                lines += ["", f"switchguid=0x{guid}", f'Switch\t{ports} "{device}"\t\t# "{name}" enhanced port 0 lid 0 lmc 0']
            else:
                lines += ["", f"caguid=0x{guid}", f'Ca\t{ports} "{device}"\t\t# "{name}"']
            for port, ((peer, peer_port), speed) in sorted(ends[device].items()):
                own = f"({guid})" if device.startswith("H-") else ""
                far = f"({peer[2:]})" if peer.startswith("H-") else ""
                lines.append(f'[{port}]{own}\t"{peer}"[{peer_port}]{far}\t\t# "{called[peer][0]}" lid 0 {speed}')
        return "\n".join(lines) + "\n"
