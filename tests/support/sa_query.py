"""What a subnet's administration answers, asked by saquery (infiniband-diags) from a node of a simulated subnet."""
import re

from waiting import until

RATES = {2: 2.5, 3: 10, 4: 30, 5: 5, 6: 20, 7: 40, 8: 60, 9: 80, 10: 120, 11: 14, 12: 56, 13: 112, 14: 168, 15: 25, 16: 100, 17: 200, 18: 300,
         19: 28, 20: 50, 21: 400, 22: 600, 23: 800, 24: 1200}


def last_64(gid):
    """The last 8 bytes of a GID as inet_ntop prints it."""
    head, _, tail = gid.partition("::")
    tail = tail.split(":") if tail else []
    words = (head.split(":") + ["0"] * (8 - len(head.split(":")) - len(tail)) + tail)[-4:]
    return int("".join(f"{int(word or '0', 16):04x}" for word in words), 16)


class SaQuery:
    def __init__(self, sim, kernel, host, key=None):
        self.sim, self.kernel, self.host, self.key = sim, kernel, host, key

    def ask(self, *words, seconds=20, lose=None):
        key = ["--smkey", self.key] if self.key else []
        return self.sim.run(["saquery", *key, *words], seconds=seconds, host=self.host, behind=self.kernel,
                            env={"RMPP_LOSE": str(lose)} if lose else {})

    def wait(self, seconds=20):
        """Until it answers: before, it is silent or busy."""
        until(lambda: "the administration does not answer", lambda: self.ask("-t", "500", "SMIR").returncode == 0, seconds)

    def dumps(self, *words, lose=None, timeout=4000):
        """[{name: text}] of every record, and {LID: port} of forwarding tables as "table"."""
        said = self.ask("-t", str(timeout), *words, lose=lose)
        assert said.returncode == 0, f"saquery {words}: {said.returncode} {said.stdout[-500:]}{said.stderr[-500:]}"
        records = []
        for line in said.stdout.splitlines():
            if re.search(r"[Rr]ecord (?:\w+ )?dump:|ClassPortInfo:$", line):
                records.append({})
            elif field := re.match(r"\s+([\w/ ]+?)\.{2,}(.*)$", line):
                records[-1][field[1]] = field[2]
            elif entry := re.match(r"\s+(\d+)\t(\d+)\s*$", line):
                records[-1].setdefault("table", {})[int(entry[1])] = int(entry[2])
            elif row := re.match(r"\s+0x([0-9a-f]{4})\t0x([0-9a-f]{4})\s*$", line):
                records[-1].setdefault("masks", {})[int(row[1], 16)] = int(row[2], 16)
            elif row := re.match(r"\s+VL:((?:\s*\d+\|)+)", line):
                records[-1]["lanes"] = [int(lane) for lane in row[1].replace(" ", "").split("|") if lane]
            elif row := re.match(r"\s+(VL|Weight) *:((?:\s*\d+\|){16})\s*$", line):
                records[-1].setdefault(row[1], []).extend(int(number) for number in row[2].replace(" ", "").split("|") if number)
            elif re.match(r"\s+(?:0x[0-9a-f]{4} ?){8}\s*$", line):
                records[-1].setdefault("keys", []).extend(int(word, 16) for word in line.split())
        return records

    def nodes(self, **how):
        """{(LID, port): (node GUID, type, ports, description)}"""
        return {(int(one["lid"]), int(one["port_num"])): (int(one["node_guid"], 16), one["node_type"], int(one["num_ports"]), one["NodeDescription"])
                for one in self.dumps("NR", **how)}

    def links(self):
        """{((LID, port), (LID, port))}, in both directions"""
        return {((int(one["FromLID"]), int(one["FromPort"])), (int(one["ToLID"]), int(one["ToPort"]))) for one in self.dumps("LR")}

    def tables(self):
        """{LID of a switch: {LID: port}}, without entries that drop packets"""
        found = {}
        for one in self.dumps("LFTR"):
            found.setdefault(int(one["LID"]), {}).update({lid: port for lid, port in one["table"].items() if port != 255})
        return found

    def multicast(self):
        """{LID of a switch: {LID of a group: {ports}}}, without entries that drop packets"""
        found = {}
        for one in self.dumps("MFTR"):
            for lid, mask in one["masks"].items():
                ports = {16 * int(one["Position"]) + port for port in range(16) if mask >> port & 1}
                if ports:
                    found.setdefault(int(one["LID"]), {}).setdefault(lid, set()).update(ports)
        return found

    def guids(self):
        """{(LID, block): [GUID]}"""
        return {(int(one["LID"]), int(one["Block"])): [one[f"GUID {i}"] for i in range(8)] for one in self.dumps("GIR")}

    def paths(self, *words):
        """{(source LID, target LID): {sl, mtu, rate (Gb/s), key, life, reversible, sguid, dguid}}"""
        found = {}
        for one in self.dumps(*(words or ["-p"])):
            pair = int(one["slid"]), int(one["dlid"])
            assert pair not in found, f"two paths of {pair}"
            found[pair] = {"sl": int(one["sl"], 16), "mtu": int(one["mtu"], 16) & 63, "rate": RATES[int(one["rate"], 16) & 63],
                           "key": int(one["pkey"], 16), "life": int(one["pkt_life"], 16) & 63, "reversible": int(one["num_path_revers"], 16) >> 7,
                           "sguid": last_64(one["sgid"]), "dguid": last_64(one["dgid"])}
        return found
