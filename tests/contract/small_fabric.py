"""A fabric small enough to see whole: four nodes of four GPUs and two rails in two racks, two leaves, one spine, storage.

                 spine-1
               /        \\
          leaf-1        leaf-2            rail-0 on leaf-1, rail-1 on leaf-2
        / | | |  \\     / | | |
       n1 n2 n3 n4 st1 n1 n2 n3 n4        one NVLink domain per node; node-4 tells no GPU-to-adapter affinity
"""
NODES = 4
GPUS = 4


def guid(number):
    return f"{0x0c42a10300280000 + number:016x}"


def fabric(nodes=NODES):
    """In the native format. Fewer nodes: the last ones are missing."""
    switches = [
        {"guid": guid(1), "name": "leaf-1", "ports": 16, "subnet": "compute", "rack": "A", "lid": 1},
        {"guid": guid(2), "name": "leaf-2", "ports": 16, "subnet": "compute", "rack": "B", "lid": 2},
        {"guid": guid(3), "name": "spine-1", "description": "Quantum-2 spine 1", "ports": 16, "subnet": "compute", "lid": 3},
        {"guid": guid(4), "name": "spare", "ports": 2, "subnet": "storage"},
    ]
    hosts, links, device = [], [], len(switches)
    for node in range(1, nodes + 1):
        adapters, gpus = [], []
        for rail in range(2):
            number = 0x100 + node * 16 + rail
            adapters.append({"guid": guid(number), "device": f"mlx5_{rail}",
                             "ports": [{"guid": guid(number), "lid": 100 + node * 2 + rail, "rail": f"rail-{rail}"}]})
            links.append([rail, node, device, 1, 0])
            device += 1
        for gpu in range(GPUS):
            gpus.append({"domain": f"nv-{node}"})
            if node == 1:
                gpus[-1]["clique"] = 32766
            if node != 4:
                gpus[-1]["nics"] = [gpu * 2 // GPUS, 1 - gpu * 2 // GPUS]
        hosts.append({"name": f"node-{node}", "rack": "A" if node <= 2 else "B",
                      "labels": {"gpu": "h100", "zone": "east" if node <= 2 else "west", "note": "n" * 400}, "adapters": adapters, "gpus": gpus})
    hosts.append({"name": "storage-1", "kind": "storage",
                  "adapters": [{"guid": guid(0x900), "device": "mlx5_0", "ports": [{"lid": 200}, {}]}]})
    links.append([0, 14, device, 1, 2])
    device += 1
    links += [[0, 16, 2, 1, 1], [1, 16, 2, 2, 1], [2, 16, device, 1, 2]]
    return {
        "railweave": "fabric", "version": 1,
        "subnets": [{"name": "compute", "kind": "compute"}, {"name": "storage"}],
        "racks": ["A", "B"],
        "rails": ["rail-0", "rail-1"],
        "nvlinkDomains": [{"name": f"nv-{node}", "rateMbps": 3600000, **({"clusterUuid": "7a5b"} if node == 1 else {})}
                          for node in range(1, nodes + 1)],
        "switches": switches,
        "hosts": hosts,
        "adapters": [{"kind": "aggregation", "guid": guid(0xa00), "description": "Mellanox Technologies Aggregation Node",
                      "ports": [{"lid": 201}]}],
        "linkSpecs": [{"speed": "NDR", "width": 4}, {"speed": "NDR", "width": 4, "cableLengthM": 12.5},
                      {"speed": "HDR", "width": 1}],
        "links": links,
    }


LINK = f"{guid(1)}/1--{guid(0x110)}/1"  # leaf-1 port 1 to node-1 mlx5_0

NETLIST = """Switch 4 "edge-1"
[1] "box-1"[1]
[2] "box-2"[1]

Hca 1 "box-1"
[1] "edge-1"[1]

Hca 1 "box-2"
[1] "edge-1"[2]
"""
UPLINK = f"{guid(1)}/16--{guid(3)}/1"  # leaf-1 to spine-1
