"""Multicast as the switches of a simulated subnet hold it, flooded apart from Railweave: tables by dump_fts -M (infiniband-diags)."""
import re
from collections import Counter


def multicast_tables(sim):
    """{switch GUID: {LID: {ports}}}"""
    tables, table = {}, None
    for line in sim.run(["dump_fts", "-M"]).stdout.splitlines():
        if heading := re.search(r"Multicast mlids \[.*guid 0x([0-9a-f]+) ", line):
            table = tables.setdefault(int(heading[1], 16), {})
        elif row := re.match(r"0x([0-9a-f]{4}) ", line):
            table[int(row[1], 16)] = {(at - 12) // 2 for at, mark in enumerate(line) if mark == "x" and at > 11}
    return tables


def flood(walk, tables, lid, source):
    """How often each adapter gets a packet that `source` sends to the group; walk: SwitchWalk."""
    got, arriving = Counter(), [walk.ends[source]]
    for count, (switch, came_by) in enumerate(arriving):
        assert count < 1000, f"a packet of {source:x} to {lid:#x} goes round"
        for port in tables.get(switch, {}).get(lid, set()) - {came_by}:
            peer = walk.cables.get((switch, port))
            if peer is None:
                continue
            if peer[0] in walk.ends:
                got[peer[0]] += 1
            else:
                arriving.append(peer)
    return got


def add_waits(lane_walk, tables, lid, source, level):
    """What packets that `source` sends to the group on that service level wait for, with what the LaneWalk has of others."""
    arriving = [(*lane_walk.ends[source], None)]
    for count, (switch, came_by, before) in enumerate(arriving):
        assert count < 1000, f"a packet of {source:x} to {lid:#x} goes round"
        for port in tables.get(switch, {}).get(lid, set()) - {came_by}:
            peer = lane_walk.cables.get((switch, port))
            if peer is None or peer[0] in lane_walk.ends:
                continue
            channel = (switch, port, lane_walk.maps[switch, came_by, port][level])
            assert channel[2] != 15, f"{lid:#x} is dropped at {switch:x}/{port}"
            lane_walk.next.setdefault(channel, set())
            if before:
                lane_walk.next[before].add(channel)
            arriving.append((*peer, channel))


def check_group(walk, tables, lid, receivers, senders=()):
    """Each receiver gets each packet of every member once, and no other any."""
    for source in {*receivers, *senders}:
        got = flood(walk, tables, lid, source)
        assert got == Counter(set(receivers) - {source}), (f"{lid:#x}", f"from {source:x}", got, receivers)
