"""CONFIG_DB of SONiC held to SONiC's own YANG models by yanglint (libyang). The models' own statements say how a table becomes
their data: which lists it has, their keys, and the leaves of maps. XML, in which all values are texts as in CONFIG_DB."""
import json
import re
import subprocess
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

TOKEN = re.compile(r"""\s+|//[^\n]*|/\*.*?\*/|"((?:[^"\\]|\\.)*)"|'([^']*)'|([{};])|([^\s{};"']+)""", re.S)


class Statement:
    def __init__(self, keyword, argument):
        self.keyword, self.argument, self.below = keyword, argument, []

    def all(self, *keywords):
        return [one for one in self.below if one.keyword in keywords]

    def text(self, keyword):
        return next((one.argument for one in self.below if one.keyword == keyword), "")


def parse(text):
    """The first statement of a YANG file: module."""
    words, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match, text[at:at + 60]
        at = match.end()
        quoted = match.group(1) if match.group(1) is not None else match.group(2)
        if quoted is not None:
            words.append(("text", quoted))
        elif match.group(3):
            words.append((match.group(3), ""))
        elif match.group(4):
            words.append(("text", match.group(4)))
    root = Statement("", "")
    open_, parts = [root], []
    for kind, word in words:
        if kind == "text":
            parts.append(word)
            continue
        if kind != "}":
            made = Statement(parts[0], "".join(part for part in parts[1:] if part != "+"))
            open_[-1].below.append(made)
            if kind == "{":
                open_.append(made)
        else:
            open_.pop()
        parts = []
    return root.below[0]


class SonicModels:
    def __init__(self, folder):
        self.folder, self.tables = Path(folder), {}
        for file in sorted(self.folder.glob("sonic-*.yang")):
            module = parse(file.read_text())
            for top in module.all("container"):
                for table in top.all("container"):
                    self.tables[table.argument] = (module, top, table)

    def element(self, name, inside):
        return f"<{name}>{inside}</{name}>"

    def fields(self, row, of):
        text, lists = "", {one.argument for one in of.all("leaf-list")}
        for name, value in row.items():
            name = name.rstrip("@")
            values = value if isinstance(value, list) else value.split(",") if name in lists else [value]
            text += "".join(self.element(name, escape(str(one))) for one in values)
        return text

    def row(self, table, key, row):
        for single in table.all("container"):
            if single.argument == key:
                return self.element(key, self.fields(row, single))
        parts = key.split("|")
        for one in table.all("list"):
            names = one.text("key").split()
            if len(names) != len(parts):
                continue
            inside = "".join(self.element(name, escape(part)) for name, part in zip(names, parts))
            pairs = one.all("list")
            if pairs:  # a map: its fields are the rows of a list of pairs
                first = pairs[0].text("key")
                second = next(leaf.argument for leaf in pairs[0].all("leaf") if leaf.argument != first)
                for name, value in row.items():
                    inside += self.element(pairs[0].argument, self.element(first, escape(name)) + self.element(second, escape(value)))
            else:
                inside += self.fields(row, one)
            return self.element(one.argument, inside)
        raise AssertionError(f"{table.argument}: no list of the model has the key {key}")

    def data(self, config):
        """XML of the tables, and the modules that they are of."""
        text, modules = "", set()
        for name, rows in config.items():
            assert name in self.tables, f"there is no model of table {name}"
            module, top, table = self.tables[name]
            modules.add(module.argument)
            inside = "".join(self.row(table, key, row) for key, row in rows.items())
            text += f'<{top.argument} xmlns="{module.text("namespace")}">{self.element(name, inside)}</{top.argument}>\n'
        return text, modules

    def problems(self, config):
        """What libyang says is wrong; "" where it is right."""
        text, modules = self.data(config)
        with tempfile.TemporaryDirectory(prefix="railweave-yang-") as folder:
            file = Path(folder, "config.xml")
            file.write_text(text)
            done = subprocess.run(["yanglint", "-p", str(self.folder), "-t", "config", "-f", "xml", "-o", str(Path(folder, "out.xml")),
                                   *(str(self.folder / f"{module}.yang") for module in sorted(modules, key=lambda name: (name != "sonic-device_metadata", name))), str(file)],
                                  capture_output=True, text=True, timeout=300)
        said = "\n".join(line for line in (done.stdout + done.stderr).splitlines() if line.startswith(("libyang err", "YANGLINT")))
        return "" if done.returncode == 0 else said or done.stderr


def with_ports(config, speeds):
    """The configuration on a switch that has these ports: {"Ethernet0": Mb/s}."""
    ports = {name: {"lanes": ",".join(str(1 + 8 * at + lane) for lane in range(8)), "alias": f"etp{at + 1}", "index": str(at + 1),
                    "speed": str(speed), "admin_status": "up", "mtu": "9100"} for at, (name, speed) in enumerate(speeds.items())}
    device = {"localhost": {"type": "LeafRouter", "hwsku": "ACS-MSN4700", "mac": "00:11:22:33:44:55",
                            "platform": "x86_64-kvm_x86_64-r0", "hostname": "leaf"}}
    return json.loads(json.dumps({"DEVICE_METADATA": device, "PORT": ports, **config}))
