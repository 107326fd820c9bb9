#!/usr/bin/env python3
"""railweave lab plan on the field's exercise: 1,000 GPUs, failures, cost. What it prints is added up again from its own counts and prices,
compared with fabrics that are generated one by one and with placements on them, and held to what must be so: a thinner network has fewer cables
and makes no step shorter, a budget leaves out what costs more, and what pays pays.

plan_test.py BIN_FOLDER
"""
import json
import math
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

BIN = Path(sys.argv[1]).resolve()
MODEL = "parameters=70e9,layers=80,hiddenSize=8192,sequenceLength=8192,globalBatchSize=1000"
JOB = ["--tp", "8", "--pp", "5", "--dp", "25"]
HOURS_OF_YEAR = 8766


def railweave(*words, code=0, cwd=None):
    done = subprocess.run([BIN / "railweave", *map(str, words)], capture_output=True, text=True, timeout=300, cwd=cwd)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout[-500:]}\n{done.stderr[-1500:]}"
    return done.stdout if code == 0 else done.stderr


def plan(*words):
    return json.loads(railweave("lab", "plan", *JOB, "--model", MODEL, *words, "-o", "json"))


def close(one, other):
    return math.isclose(one, other, rel_tol=1e-9)


def added_up(whole):
    prices = whole["prices"]
    for one in whole["fabrics"]:
        network = (one["adapters"] * prices["adapter"] + one["switchPorts"] * prices["switchPort"] + one["hostCables"] * prices["hostCable"] +
                   one["switchCables"] * prices["switchCable"] + (one["gpus"] * prices["nvlinkGpu"] if one["nvlinkDomain"] > 8 else 0))
        total = network + one["gpus"] * prices["rackGpu" if one["nvlinkDomain"] > 8 else "gpu"] + one["hosts"] * prices["host"]
        assert close(one["networkCost"], network) and close(one["totalCost"], total) and close(one["networkShare"], network / total), one
        step_cost = total * (1 + prices["overhead"]) / (prices["years"] * HOURS_OF_YEAR) * one["stepMs"] / 3.6e6
        assert close(one["stepCost"], step_cost), (one["stepCost"], step_cost)
        assert one["gpus"] >= whole["gpus"] == 1000 and one["hostCables"] == one["adapters"] and 0 < one["efficiency"] <= 1, one
    costs = [one["stepCost"] for one in whole["fabrics"]]
    assert costs == sorted(costs) and whole["chosen"] == whole["fabrics"][0]["fabric"], "the cheapest step is first"


def as_generated(whole, folder):
    """One of each kind, made by itself, with the job placed on it."""
    for kind in ("rail-optimized", "fat-tree"):
        one = next(one for one in whole["fabrics"] if one["kind"] == kind and one["nvlinkDomain"] == 8)
        rails = "--nics-per-host" if kind == "fat-tree" else "--rails"
        file = folder / f"{kind}.json"
        railweave("lab", "generate", kind, "--hosts", 125, "--tiers", one["tiers"], "--oversubscription", one["oversubscription"], rails, one["rails"], "-O", file)
        shown = json.loads(railweave("lab", "fabric", file, "-o", "json", "--fail-on", "never"))
        text = json.dumps(shown)
        assert f'"switches": {one["switches"]}' in text or shown.get("switches") == one["switches"] or str(one["switches"]) in text, (one, text[:500])
        placed = json.loads(railweave("lab", "place", file, *JOB, "--model", MODEL, "-o", "json"))
        assert math.isclose(placed["predicted"]["stepMs"], one["stepMs"], rel_tol=1e-6), (placed["predicted"], one)


def thinner_has_fewer_cables_and_is_not_faster(whole):
    by_shape = {(one["kind"], one["tiers"], one["rails"], one["nvlinkDomain"], one["oversubscription"]): one for one in whole["fabrics"]}
    compared = 0
    for (kind, tiers, rails, domain, ratio), one in by_shape.items():
        thinner = ratio and by_shape.get((kind, tiers, rails, domain, ratio * 2))
        if thinner:
            # Switches come whole, so that a thinner network may have more of them; cables between them are fewer in any case.
            assert thinner["switchCables"] < one["switchCables"] and thinner["stepMs"] >= one["stepMs"] * 0.99, (one, thinner)
            compared += 1
    assert compared >= 6, compared


def what_pays(whole):
    prices, chosen = whole["prices"], whole["fabrics"][0]
    paid = 0
    for change in whole["changes"]:
        hour = chosen["totalCost"] * (1 + prices["overhead"]) / (prices["years"] * HOURS_OF_YEAR)
        saved = hour * -change["stepMs"] / chosen["stepMs"]
        days = change["paysAfterDays"]
        if change["networkCost"] > 0 and days is not None:
            assert math.isclose(saved * 24 * days, change["networkCost"] * (1 + prices["overhead"]), rel_tol=1e-6), change
            paid += 1
        elif change["networkCost"] > 0:
            assert saved * 24 * prices["years"] * 365.25 < change["networkCost"] * (1 + prices["overhead"]), change
    # Domains beyond a host are of newer GPUs, which is said: the difference is not the domain's alone.
    generations = {one["nvlinkDomain"]: one["generation"] for one in whole["fabrics"]}
    assert any(re.fullmatch(rf"NVL(8|72) of ({generations[8]}|{generations[72]})", change["change"]) for change in whole["changes"]), "what a larger NVLink domain would give is not told"
    return paid


def main():
    whole = plan()
    added_up(whole)
    thinner_has_fewer_cables_and_is_not_faster(whole)
    what_pays(whole)
    assert {one["gpus"] for one in whole["sizes"]} >= {1000, 2000, 4000} and all("stepMs" in one for one in whole["sizes"]), whole["sizes"]
    failures = whole["failures"]
    assert close(failures["hoursBetween"], failures["gpuHours"] / 1000) and 0 < failures["lostShare"] < 0.1, failures
    with tempfile.TemporaryDirectory(prefix="railweave-plan-") as name:
        folder = Path(name)
        as_generated(whole, folder)
        # A budget between two: the dearer ones are left out, and one that nothing meets is said.
        totals = sorted({one["totalCost"] for one in whole["fabrics"]})
        within = plan("--budget", f"{totals[len(totals) // 2]:.0f}")
        assert within["beyondBudget"] > 0 and max(one["totalCost"] for one in within["fabrics"]) <= totals[len(totals) // 2]
        assert "more than the budget" in railweave("lab", "plan", *JOB, "--budget", "1000", code=7)
        # Where the network is dear and steps are free, less of it is chosen; where GPUs are dear, more of it.
        dear = plan("--prices", "switchPort=200000,switchCable=200000")["fabrics"][0]
        cheap = plan("--prices", "switchPort=0,switchCable=0,hostCable=0,adapter=0,nvlinkGpu=0")["fabrics"][0]
        assert dear["switchPorts"] <= cheap["switchPorts"] and cheap["stepMs"] <= dear["stepMs"], (dear, cheap)
        (folder / "prices.json").write_text('{"gpu": 25000, "years": 5}')
        assert plan("--prices", folder / "prices.json")["prices"]["years"] == 5
        assert "gpus" in railweave("lab", "plan", *JOB, "--prices", "gpus=1", code=8)
        # For people, with the picture.
        shown = railweave("lab", "plan", *JOB, "--model", MODEL, "--svg", folder / "plan.svg")
        for part in ("Fabric:", "Cost:", "Efficiency:", "Failures:", "CHANGE", "PAYS AFTER", "The same shape at other sizes", "assumed"):
            assert part in shown, f"{part} is not in\n{shown}"
        picture = (folder / "plan.svg").read_text()
        xml.etree.ElementTree.fromstring(picture)
        for anchor in ("end", "middle"):
            marks = [float(mark) for mark in re.findall(rf"text-anchor='{anchor}'>([0-9.e+]+)</text>", picture)]
            apart = f"{marks[1] - marks[0]:.3e}"
            assert len(marks) >= 3 and apart[:5] in ("1.000", "2.000", "5.000"), f"no round marks: {marks}"
        assert len(re.findall("<circle", picture)) == len(whole["fabrics"]) and picture.count("class='chosen'") == 1
        # Without a model: communication is compared, and that is said.
        plain = json.loads(railweave("lab", "plan", *JOB, "-o", "json"))
        why = [f"{one['gpus']} GPUs: {one['impossible']}" for one in plain["sizes"] if "impossible" in one]
        told = railweave("lab", "plan", *JOB)
        assert why and all(one in told for one in why), (why, told)
        assert plain["step"] == "communication" and plain["fabrics"][0]["efficiency"] is None
    print(shown)
    print(f"{len(whole['fabrics'])} fabrics for {whole['gpus']} GPUs, {len(whole['impossible'])} impossible; chosen: {whole['chosen']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
