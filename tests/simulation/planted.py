#!/usr/bin/env python3
"""Plants bugs in a clean working tree, one after the other, and prints the first seed at which the simulation sees each.

planted.py BUILD [NAME...]     BUILD: a configured build folder; a minute for each bug, for it is compiled
"""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEEDS = 2000

# Name -> edits: file, text, text instead.
PLANTED = {
    "answer before the append": [
        ("services/control/control_loop.cc",
         "  if (next.state == nullptr) return true;\n  const auto appended = append(next);\n  settle(std::move(next), appended, none);\n",
         "  if (next.state == nullptr) return true;\n  const db::Batch writes = next.writes;\n  publish(next.state, next.view);\n"
         "  answer(std::move(next));\n  (void)append(writes);\n  (void)none;\n")],
    "the store does not ask who leads": [
        ("tests/simulation/simulated_store.cc", "  if (!has_successor()) return {};\n", "  return {};\n")],
    "the lease of another is not waited for": [
        ("tests/simulation/simulated_store.cc", "  if (store_.time.now_us() < store_.lease_until_us) return false;\n", "")],
    "datagrams are sent without a look at the lease": [
        ("fabric/drivers/infiniband/fenced_port.h", "MadMethod::set && !leads_()", "MadMethod::set && false && !leads_()")],
    "a drained link stays in use": [
        ("fabric/routing/plane/live_plane.cc", "  if (state == LinkState::down || input.view.drained(link)) return {};\n",
         "  if (state == LinkState::down) return {};\n")],
    "a subnet's walk takes in the tables of the other": [
        ("services/control/live/routes/route_audit.cc",
         "planes().size(), std::make_shared<const fabric::PlaneReport>());", "planes().size());")],
    "tables of one subnet are written to the other": [
        ("services/control/live/routes/subnet_routes.cc", "    if (t.subnet(block.sw) != links_.subnet()) return true;\n", "")],
    "a lost datagram leaves old tables": [
        ("services/control/live/routes/subnet_routes.cc",
         "    if (report->blocks[i] != WriteOutcome::applied) applied_.doubt(delta.blocks[i].sw);\n", ""),
        ("services/control/live/routes/subnet_routes.cc",
         "  for (const auto& isolated : report->isolated) applied_.isolate(isolated.sw, isolated.reason);\n", "")],
    "rows of a switch that was away stay old": [
        ("services/control/live/routes/subnet_routes.cc", "  for (const SwitchId sw : left_out) applied_.doubt(sw);\n", ""),
        ("services/control/live/routes/subnet_routes.cc",
         "    if (const SwitchId sw = t.switch_of(port)) applied_.doubt(sw);\n", "    (void)t.switch_of(port);\n")],
    "a clock set back stops the queue": [
        ("services/control/control_loop.h",
         "QueueRunner queue_runner_{placers_, options_.queue_rest, options_.monotonic_us,",
         "QueueRunner queue_runner_{placers_, options_.queue_rest, options_.now_us,")],
    "a reservation stays when its job ends": [
        ("services/control/views/guarantee_book.cc", "      if (now == entry.job) continue;\n",
         "      if (now == nullptr || now == entry.job) continue;\n")],
    "a deposed leader still programs": [
        ("tests/simulation/service.cc", "[this] { return loop_.leads(); }", "[] { return true; }"),
        ("services/control/live/live_subnets.cc",
         "return loop_.leads() ? loop_.state()->mode(name) : SubnetMode::observe;", "return loop_.state()->mode(name);")],
    "a drain is complete before the tables are written": [
        ("services/control/live/routes/drain_progress.cc", "        !applied || (link ?", "        applied && (link ?")],
}


def main():
    build = Path(sys.argv[1]).resolve()
    names = sys.argv[2:] or list(PLANTED)
    subprocess.run(["git", "-C", ROOT, "diff", "--quiet"], check=True)
    missed = 0
    for name in names:
        try:
            for file, text, instead in PLANTED[name]:
                source = (ROOT / file).read_text()
                if source.count(text) != 1:
                    sys.exit(f"{file} has {source.count(text)} times, not once: {text}")
                (ROOT / file).write_text(source.replace(text, instead))
            subprocess.run(["cmake", "--build", build, "--target", "simulation"], check=True, stdout=subprocess.DEVNULL)
            ran = subprocess.run([build / "tests/simulation/simulation", "--gtest_filter=Seeds/*/0"], check=False,
                                 env=os.environ | {"RAILWEAVE_SEEDS": str(4 * SEEDS), "RAILWEAVE_MOST_FAILURES": "1"},
                                 stdout=subprocess.PIPE, text=True, timeout=600)
            seen = re.search(r"seed (\d+): ([^\\]*)\\n", ran.stdout)
            missed += seen is None
            print(f"| {name} | {seen[1]} | {seen[2]} |" if seen else f"| {name} | not in {SEEDS} | |", flush=True)
        finally:
            subprocess.run(["git", "-C", ROOT, "checkout", "-q", "--", *{file for file, _, _ in PLANTED[name]}], check=True)
    sys.exit(missed)


if __name__ == "__main__":
    main()
