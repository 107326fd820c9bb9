"""Kinds of alteration of what proves a certificate: a name, what is done to the Evidence, and what railweave-verify says of it.

Those of ALTERATIONS are signed again with the service's own key, with counts and digests of the files made to fit ("refit": that of the
routes in the certificate too), so that nothing but their meaning is wrong. Those of the seals themselves are in seal_alterations.py.
"""


def job_named(e, tenant, which=0):
    return [job for job in e.certificate["jobs"] if job["tenant"] == tenant][which]


def lane_link(e, lane=0):
    """A link between a switch and anything else on which two jobs have lanes."""
    return next(link for link in e.certificate["links"] if len(link.get("lanes", [])) == 2 and link["from"] not in ports_of_hosts(e))


def ports_of_hosts(e):
    return {f"{adapter['guid'].rjust(16, '0')}/{n}" for host in e.fabric["hosts"] for adapter in host["adapters"] for n in range(1, len(adapter["ports"]) + 1)}


def leaf_of(e, port):
    """The port at the other end of an adapter's."""
    return next(link["to"] for link in e.certificate["links"] if link["from"] == port)


# --- tables of switches

def entry_changed(e):
    one, other = job_named(e, "red")["ports"][:2]
    guid = leaf_of(e, one["port"]).split("/")[0]
    e.change(f"lft {guid} {other['portLid']} ", lambda line: line.rsplit(" ", 1)[0] + " 7")
    return {"refit": True}


def entry_missing(e):
    one, other = job_named(e, "blue")["ports"][:2]
    guid = leaf_of(e, one["port"]).split("/")[0]
    del e.tables[e.line(f"lft {guid} {other['portLid']} ")]
    return {"refit": True}


def rerouted_over_another_spine(e):
    """Packets arrive, over a link with nothing reserved for them."""
    ports = job_named(e, "red")["ports"]
    guid = leaf_of(e, ports[0]["port"]).split("/")[0]
    far = next(port for port in ports if leaf_of(e, port["port"]).split("/")[0] != guid)
    start = f"lft {guid} {far['portLid']} "
    now = int(e.tables[e.line(start)].split()[3])
    up = sorted({int(line.split()[3]) for line in e.tables if line.startswith(f"lft {guid} ") and int(line.split()[3]) > 4})
    e.change(start, lambda line: start + str(next(port for port in up if port != now)))
    return {"refit": True}


def tables_exchanged(e):
    """Two leaves have each other's forwarding tables."""
    ports = job_named(e, "red")["ports"]
    a, b = (leaf_of(e, port["port"]).split("/")[0] for port in (ports[0], ports[-1]))
    swap = {a: b, b: a}
    e.tables = [" ".join([w[0], swap.get(w[1], w[1]), *w[2:]]) if (w := line.split())[0] in ("lft", "switch") else line for line in e.tables]
    return {"refit": True}


def switch_duplicated(e):
    guid = leaf_of(e, job_named(e, "red")["ports"][0]["port"]).split("/")[0]
    e.tables.insert(2, next(line for line in e.tables if line.startswith(f"switch {guid} ")))


def switch_unknown(e):
    e.tables.insert(1, "switch 00000000deadbeef 0")
    return {"refit": True}


def switch_left_out(e):
    guid = leaf_of(e, job_named(e, "red")["ports"][0]["port"]).split("/")[0]
    e.tables = [line for line in e.tables if guid not in line]
    return {"refit": True}


def weight_of(e, link):
    return e.line(f"vlarb {link['from']} low")


def lane_weight(line, lane, weight):
    return " ".join(f"{lane}:{weight}" if word.startswith(f"{lane}:") else word for word in line.split())


def weight_lowered(e):
    link = lane_link(e)
    at = weight_of(e, link)
    e.tables[at] = lane_weight(e.tables[at], 6, 1)


def weight_lowered_in_both(e):
    link = lane_link(e)
    e.tables[weight_of(e, link)] = lane_weight(e.tables[weight_of(e, link)], 6, 1)
    for turn in link["turns"]:
        if turn[1] == 6:
            turn[2] = 1


def turn_left_out_in_both(e):
    link = lane_link(e)
    at = weight_of(e, link)
    e.tables[at] = " ".join(word for word in e.tables[at].split() if not word.startswith("6:"))
    link["turns"] = [turn for turn in link["turns"] if turn[1] != 6]


def served_before_others(e):
    e.change(f"vlarb {lane_link(e)['from']} high", lambda line: line + " 0:255")


def level_to_lane(e, level, lane):
    link = lane_link(e)

    def change(line):
        words = line.split()
        words[3 + level] = str(lane)
        return " ".join(words)

    e.change(f"sl2vl {link['from']} ", change)


def level_to_anothers_lane(e):
    level_to_lane(e, 7, 6)


def best_effort_to_a_jobs_lane(e):
    level_to_lane(e, 0, 6)


def unused_level_to_a_jobs_lane(e):
    level_to_lane(e, 12, 7)


def level_discarded(e):
    level_to_lane(e, 6, 15)


def ingress_opened(e):
    """A leaf discards what comes from a node and no job there sends, but for the service level of a job's own lane elsewhere."""
    guid, into = leaf_of(e, job_named(e, "blue")["ports"][0]["port"]).split("/")
    link = next(link for link in e.certificate["links"] if link["from"].startswith(guid) and len(link.get("lanes", [])) == 2)
    own = job_named(e, "blue")
    kept = {0, 6, *next(one["serviceLevels"] for one in e.certificate["classes"] if one["name"] == own["class"])}
    e.change(f"sl2vl {link['from']} {into} ", lambda line: " ".join(
        "6" if at == 9 else word if at < 3 or at - 3 in kept else "15" for at, word in enumerate(line.split())))


def filter_missing(e):
    """What comes in from adapters is not filtered at any port: each level leads where it leads from a port of a switch."""
    hosts = ports_of_hosts(e)
    behind = {link["to"] for link in e.certificate["links"] if link["from"] in hosts}
    for out in {line.split()[1] for line in e.tables if line.startswith("sl2vl ")}:
        rows = {line.split()[2]: at for at, line in enumerate(e.tables) if line.startswith(f"sl2vl {out} ")}
        guid = out.split("/")[0]
        open_map = ["15"] * 16
        for at in rows.values():
            open_map = [now if now != "15" else more for now, more in zip(open_map, e.tables[at].split()[3:])]
        for into, at in rows.items():
            if f"{guid}/{into}" in behind:
                e.tables[at] = " ".join([*e.tables[at].split()[:3], *open_map])


def opened_between_switches(e):
    """At a spine the lane of a job is open to packets from a link where a job elsewhere has a lane of the same number."""
    first, apart = job_named(e, "red", 0), job_named(e, "red", 2)
    assert first["lane"] == apart["lane"], (first, apart)
    hosts = ports_of_hosts(e)
    down = next(link for link in e.certificate["links"] if link["from"] not in hosts and link["to"] not in hosts
                and any(owner["job"] == first["job"] for owner in link.get("lanes", [])) and closed_rows(e, link["from"], first))
    for at in closed_rows(e, down["from"], first):
        words = e.tables[at].split()
        words[3 + first["serviceLevels"][0]] = lane_of(e, down, first)
        e.tables[at] = " ".join(words)


def lane_of(e, link, job):
    return str(next(turn[1] for turn in link["turns"] if turn[0] == len(e.certificate["classes"]) + job["lane"]))


def closed_rows(e, out, job):
    return [at for at, line in enumerate(e.tables) if line.startswith(f"sl2vl {out} ") and line.split()[3 + job["serviceLevels"][0]] == "15"]


def packets_made_smaller(e):
    """Weights that would do for small packets, at the port and in the certificate, which says that packets are small."""
    link = lane_link(e)
    e.tables[weight_of(e, link)] = lane_weight(e.tables[weight_of(e, link)], 6, 1)
    for turn in link["turns"]:
        if turn[1] == 6:
            turn[2] = 1
    e.certificate["ports"].update(mtuBytes=256, largestPacketBytes=384)


def packets_of_64_bytes(e):
    e.certificate["ports"].update(largestPacketBytes=64)


def entries_raised(e):
    e.certificate["ports"].update(arbitrationEntries=64)


def slower_port(e):
    """A cable of the certificate runs at a tenth of what was accepted."""
    e.change(f"port {lane_link(e)['from']} ", lambda line: " ".join("SDR" if at == 5 else word for at, word in enumerate(line.split())))


def larger_packets(e):
    """A port that passes larger packets than the certificate counts on."""
    e.change(f"port {lane_link(e)['from']} ", lambda line: " ".join("4096" if at == 6 else word for at, word in enumerate(line.split())))


def port_says_nothing(e):
    del e.tables[e.line(f"port {lane_link(e)['from']} ")]


def owner_raised(e):
    """With what is reserved in the class."""
    link = lane_link(e)
    link["lanes"][0]["reservedMbps"] += 1
    at = max(range(len(link["reservedMbps"])), key=lambda i: link["reservedMbps"][i])
    link["reservedMbps"][at] += 1


def reserved_for_failures_raised(e):
    """Of a class whose only job survives failures."""
    at = next(i for i, one in enumerate(e.certificate["classes"]) if one["name"] == job_named(e, "blue")["class"])
    next(link for link in e.certificate["links"] if link["reservedMbps"][at] > 0)["reservedMbps"][at] += 1


def field_added(e):
    job_named(e, "red")["weight"] = 3


def level_map_missing(e):
    del e.tables[e.line(f"sl2vl {lane_link(e)['from']} ")]


def port_tables_missing(e):
    port = lane_link(e)["from"]
    e.tables = [line for line in e.tables if f" {port} " not in line]


def key_missing(e):
    e.change(f"pkeys {job_named(e, 'red')['ports'][0]['port']}", lambda line: " ".join(line.split()[:3]))


def key_of_another_tenant(e):
    blue = next(record["data"]["pkey"] for record in e.records("contract.put") if record["data"]["tenant"] == "blue")
    e.change(f"pkeys {job_named(e, 'red')['ports'][0]['port']}", lambda line: f"{line} 0x{blue | 0x8000:04x}")


def key_of_no_contract(e):
    e.change(f"pkeys {job_named(e, 'green')['flows'][0]['from']}", lambda line: line + " 0x9abc")


# --- the certificate

def lane_shared(e):
    first, second = job_named(e, "red", 0), job_named(e, "red", 1)
    for link in e.certificate["links"]:
        for owner in link.get("lanes", []):
            if owner["job"] == second["job"]:
                owner["lane"] = first["lane"]
    second["lane"], second["serviceLevels"] = first["lane"], first["serviceLevels"]


def reserved_lowered(e):
    link = lane_link(e)
    at = max(range(len(link["reservedMbps"])), key=lambda i: link["reservedMbps"][i])
    link["reservedMbps"][at] -= 1


def reserved_raised(e):
    link = lane_link(e)
    at = next(i for i, mbps in enumerate(link["reservedMbps"]) if mbps == 0)
    link["reservedMbps"][at] = 10


def owner_lowered(e):
    lane_link(e)["lanes"][0]["reservedMbps"] -= 1


def capacity_raised(e):
    lane_link(e)["capacityMbps"] *= 2


def link_left_out(e):
    e.certificate["links"].remove(lane_link(e))


def job_left_out(e):
    """With all that was reserved for it alone."""
    e.certificate["jobs"].remove(job_named(e, "green"))


def job_invented(e):
    e.certificate["jobs"].append({**job_named(e, "blue"), "job": "job-000099"})


def job_of_another_tenant(e):
    job_named(e, "blue")["tenant"] = "red"


def port_exchanged(e):
    taken = {port["port"] for port in job_named(e, "blue")["ports"]}
    free = next(port for port in job_named(e, "red")["ports"] if port["port"] not in taken)
    job_named(e, "blue")["ports"][0].update(port=free["port"], portLid=free["portLid"])


def lid_exchanged(e):
    ports = job_named(e, "blue")["ports"]
    ports[0]["portLid"], ports[1]["portLid"] = ports[1]["portLid"], ports[0]["portLid"]


def rate_lowered(e):
    for port in job_named(e, "blue")["ports"]:
        port["receiveMbps"] = 1000


def flow_lowered(e):
    job_named(e, "green")["flows"][0]["mbps"] -= 100


def share_reserved_lowered(e):
    job_named(e, "blue")["reservedPermille"] = 500


def class_changed(e):
    job_named(e, "blue")["class"] = "latency"


def share_raised(e):
    e.certificate["classes"][4]["sharePermille"] += 200


def usable_raised(e):
    e.certificate["usablePermille"] = 1000


def failures_not_claimed(e):
    job_named(e, "blue")["survivesLinkFailure"] = False


def lane_not_claimed(e):
    job = job_named(e, "red")
    job.pop("lane")
    job.pop("serviceLevels")
    for link in e.certificate["links"]:
        link["lanes"] = [owner for owner in link.get("lanes", []) if owner["job"] != job["job"]]


def lane_claimed(e):
    job_named(e, "blue").update(lane=5, serviceLevels=[11])


def link_said_to_be_down(e):
    link = next(link for link in e.certificate["links"] if link["from"] not in ports_of_hosts(e) and link["to"] not in ports_of_hosts(e))
    e.certificate["linksDown"] = ["--".join(sorted((link["from"], link["to"])))]


def sequence_ahead(e):
    e.certificate["seq"] += 1000


def of_another_time(e):
    e.certificate["seq"] = e.records("job.placed")[-1]["seq"] - 1


# --- failures

def failure_left_out(e):
    e.after.pop(next(iter(e.after)))


def failure_tables_altered(e):
    """After a failure switches go on as before it: the routes of the whole fabric, of a link that a surviving job uses."""
    survivor = job_named(e, "blue")
    lid = survivor["ports"][0]["portLid"]
    link = next(iter(e.after))
    e.after[link] = "\n".join(line for line in e.after[link].splitlines() if not line.startswith(f"0x{lid:04X} ")) + "\n"


ALTERATIONS = [
    ("a forwarding entry that leads elsewhere", entry_changed, r"FAULT .*(do not arrive|can carry)"),
    ("a forwarding entry missing", entry_missing, r"FAULT job-\d+: packets from \S+ to \S+ do not arrive"),
    ("a route over a link where nothing is reserved for it", rerouted_over_another_spine, r"FAULT \S+->\S+: .*(can carry \d+ Mb/s|more than its jobs need)"),
    ("tables of another switch", tables_exchanged, r"FAULT job-\d+: packets from \S+ to \S+ do not arrive"),
    ("a switch twice", switch_duplicated, r"FAULT switch of \w{16}: is in the tables twice"),
    ("a switch that the fabric does not have", switch_unknown, r"FAULT switch 00000000deadbeef: has tables, and the fabric has no such switch"),
    ("a switch left out", switch_left_out, r"FAULT switch \w{16}: its tables are missing"),
    ("an arbitration weight lowered", weight_lowered, r"FAULT \S+/\d+: turn \d+ of its arbitration is of lane 6 with weight 1, the certificate says lane 6 with weight \d+"),
    ("an arbitration weight lowered, in the certificate too", weight_lowered_in_both, r"FAULT \S+->\S+: the weight of lane 0 is below what is reserved for job-\d+"),
    ("a turn left out, in the certificate too", turn_left_out_in_both, r"FAULT \S+->\S+: the weight of lane 0 is below what is reserved for job-\d+"),
    ("a lane served before all others", served_before_others, r"FAULT \S+/\d+: lane 0 is served before all others"),
    ("a job's service level to another's lane", level_to_anothers_lane, r"FAULT \S+ from port \d+: service level 7 of job-\d+ leads to lane 6, which is that of job-\d+"),
    ("best effort to a job's lane", best_effort_to_a_jobs_lane, r"FAULT \S+ from port \d+: service level 0 of best-effort leads to lane 6, which is that of job-\d+"),
    ("a service level of no one to a job's lane", unused_level_to_a_jobs_lane, r"FAULT \S+ from port \d+: service level 12 leads to lane 7, which is that of job-\d+"),
    ("a job's packets discarded", level_discarded, r"FAULT \S+ from port \d+: service level 6 of job-\d+ leads to lane 15, which is not its own"),
    ("an ingress map opened", ingress_opened, r"FAULT \S+ of \S+ gets onto the lane of job-\d+, which does not run there, at \S+ with service level 6"),
    ("no filter of what comes in, at any port of a host", filter_missing, r"FAULT \S+ of \S+ gets onto the lane of job-\d+, which does not run there"),
    ("a lane opened to a job elsewhere with one of the same number", opened_between_switches, r"FAULT \S+ of \S+ gets onto the lane of job-\d+, which does not run there"),
    ("weights for small packets, which the certificate claims", packets_made_smaller, r"FAULT packets have up to \d+ bytes of payload by what they say themselves, the certificate says 256"),
    ("packets of 64 bytes", packets_of_64_bytes, r"FAULT a packet with \d+ bytes of payload has up to \d+ bytes with its headers"),
    ("more arbitration entries", entries_raised, r"FAULT ports have \d+ arbitration entries by the journal, the certificate says 64"),
    ("a port slower than accepted", slower_port, r"FAULT \S+->\S+: its capacity is not the link's rate, 8000 Mb/s, but 100000"),
    ("a port with larger packets", larger_packets, r"FAULT packets have up to 4096 bytes of payload by what they say themselves"),
    ("nothing of how a port runs", port_says_nothing, r"FAULT \S+: what it says of itself is missing"),
    ("an owner's reservation raised", owner_raised, r"FAULT \S+->\S+: \d+ Mb/s of lane \d are reserved for job-\d+, which needs \d+"),
    ("a reservation for failures raised", reserved_for_failures_raised, r"FAULT \S+->\S+: storage has \d+ Mb/s reserved, more than its jobs need"),
    ("a field more", field_added, r"FAULT the certificate: /jobs/\d+/weight is nothing that is checked"),
    ("no map of service levels from one port", level_map_missing, r"FAULT \S+ from port \d+: its map of service levels is missing"),
    ("no tables of a port", port_tables_missing, r"FAULT \S+/\d+: its tables are missing"),
    ("a key missing", key_missing, r"FAULT \S+ of \S+: lacks the key 0x\w{4} of red"),
    ("a key of another tenant", key_of_another_tenant, r"FAULT \S+ of \S+: has the key 0x\w{4} of blue, which has no job there"),
    ("a key of no contract", key_of_no_contract, r"FAULT \S+ of \S+: has the key 0x9abc, which no contract has"),
    ("a lane shared by another job", lane_shared, r"FAULT \S+->\S+: lane 0 is of job-\d+ and of job-\d+"),
    ("a reserved sum lowered", reserved_lowered, r"FAULT \S+->\S+: \S+ can carry \d+ Mb/s, \d+ are reserved"),
    ("a reserved sum raised", reserved_raised, r"FAULT \S+->\S+: \S+ has 10 Mb/s reserved, more than its jobs need"),
    ("an owner's reservation lowered", owner_lowered, r"FAULT \S+->\S+: lane \d of job-\d+ can carry \d+ Mb/s, \d+ are reserved for it"),
    ("a capacity raised", capacity_raised, r"FAULT \S+->\S+: its capacity is not the link's rate"),
    ("a link left out", link_left_out, r"FAULT \S+->\S+: \S+ can carry \d+ Mb/s, 0 are reserved"),
    ("a job left out", job_left_out, r"FAULT job-\d+: has a guarantee that the certificate leaves out"),
    ("a job invented", job_invented, r"FAULT job-000099: no contract promises it anything"),
    ("a job of another tenant", job_of_another_tenant, r"FAULT job-\d+: is of tenant blue"),
    ("a port exchanged", port_exchanged, r"FAULT job-\d+: its ranks have other ports"),
    ("a LID exchanged", lid_exchanged, r"FAULT (job-\d+: packets from \S+ to \S+ do not arrive|\S+: has LID|\S+: its first LID is not)"),
    ("a port's rate lowered", rate_lowered, r"FAULT job-\d+: \S+ is promised 4000 Mb/s in each direction"),
    ("a flow lowered", flow_lowered, r"FAULT job-\d+: its flows are not those that its groups of ranks make"),
    ("the reserved part lowered", share_reserved_lowered, r"FAULT job-\d+: its contract reserves another share"),
    ("a class changed", class_changed, r"FAULT job-\d+: its contract says class storage"),
    ("a class's share raised", share_raised, r"FAULT the classes are not those of the service"),
    ("more of a link to be reserved", usable_raised, r"FAULT 950 of 1000 of each link may be reserved, not another part"),
    ("failures not claimed to be survived", failures_not_claimed, r"FAULT job-\d+: its contract covers link failures, and the certificate does not"),
    ("a lane not claimed", lane_not_claimed, r"FAULT job-\d+: its contract gives it a lane of its own, and the certificate does not"),
    ("a lane claimed that no contract gives", lane_claimed, r"FAULT job-\d+: has a lane of its own, which its contract does not say"),
    ("a link said to be down", link_said_to_be_down, r"FAULT the links that are down are not those of the service"),
    ("a sequence number ahead of the journal", sequence_ahead, r"FAULT the certificate is of another time: it is as of record \d+, and the journal ends with record \d+"),
    ("a certificate of another time", of_another_time, r"FAULT the certificate is of another time: it is as of record \d+, and record \d+ \(\S+ of \S+\) came after it"),
    ("a failure left out", failure_left_out, r"NOT CHECKED: the tables after 1 of \d+ failures were not given, the first of \S+--\S+"),
    ("tables after a failure that lead nowhere", failure_tables_altered, r"FAULT job-\d+ after \S+ failed: packets from \S+ to \S+ do not arrive"),
]
