#!/usr/bin/env python3
"""Holds a real railweaved to openapi.yaml: every operation, every status and every code that the contract lists is provoked,
and every answer must be as it says. Fails too when something the contract lists was never seen, when what is served differs
from the file, or when hostile requests get anything but a documented refusal.

contract_test.py RAILWEAVED LIVE_SERVICE OPENAPI_YAML [--seed 1] [--hostile 1.0] [--only WORD,...]
"""
import argparse
import fnmatch
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import access_cases  # noqa: E402
import advice_cases  # noqa: E402
import agent_cases  # noqa: E402
import event_cases  # noqa: E402
import fabric_cases  # noqa: E402
import failure_cases  # noqa: E402
import gang_cases  # noqa: E402
import guarantee_cases  # noqa: E402
import hostile  # noqa: E402
import http_cases  # noqa: E402
import job_cases  # noqa: E402
import job_change_cases  # noqa: E402
import job_route_cases  # noqa: E402
import launch_cases  # noqa: E402
import live_cases  # noqa: E402
import member_cases  # noqa: E402
import null_cases  # noqa: E402
import path_cases  # noqa: E402
import queue_cases  # noqa: E402
import reroute_cases  # noqa: E402
import route_cases  # noqa: E402
import service_cases  # noqa: E402
import shape_cases  # noqa: E402
import share_cases  # noqa: E402
import site_cases  # noqa: E402
import spread_cases  # noqa: E402
import step_cases  # noqa: E402
import tenant_cases  # noqa: E402
import webhook_cases  # noqa: E402
from contract import Contract  # noqa: E402
from service import Service  # noqa: E402
from session import Session  # noqa: E402

# What the contract lists and this test cannot provoke: (operation, status, code) and why. Each must still be unseen, so that
# the list does not outlive its reasons.
EXCUSED = [
    ("everywhere", 408, "*", "takes ten seconds of silence; tests/unit/http has it"),
    ("everywhere", 500, "*", "needs a fault of ours"),
    ("everywhere", 503, "http.bodiesInFlight", "needs a GiB of bodies at once; tests/unit/http has it"),
    ("everywhere", 503, "http.noAnswerInTime", "takes two minutes; tests/unit/http has it"),
    ("everywhere", 503, "http.outOfMemory", "needs a machine without memory; tests/unit/http has it"),
    ("everywhere", 409, "*", "needs several processes; tests/integration/replicas_test.py has it"),
    ("everywhere", 503, "service.noLeader", "needs several processes; tests/integration/replicas_test.py has it"),
    ("everywhere", 503, "http.tooManyLargeAnswers", "needs 64 large answers at once; tests/unit/http has it"),
    ("everywhere", 401, "auth.unknownCertificate", "needs TLS; tests/integration/callers_test.py has it"),
    ("everywhere", 401, "auth.untrustedCertificate", "as the one before"),
    ("everywhere", 503, "service.leaderGone", "needs several processes; tests/integration/replicas_store_test.py has it"),
    ("everywhere", 503, "service.storeSilent", "as the one before"),
    ("everywhere", 401, "auth.unknownKey", "needs a provider of keys; tests/integration/callers_test.py has it"),
    ("everywhere", 401, "auth.notYetValid", "as the one before"),
    ("everywhere", 401, "auth.noRole", "as the one before"),
    ("everywhere", 503, "auth.noKeys", "as the one before"),
    ("submitJob", 409, "idempotency.jobEnded", "needs 2,000 jobs that ended after it; tests/unit/control has it"),
    ("*", 503, "service.notReady", "the service listens only once it is ready, and says so only while it stops"),
    ("drainNode", 409, "*", "as the next"),
    ("drain*", 409, "drains.viewChanged", "needs the fabric to change three times, each while it is looked at"),
    ("repairJob", 503, "*", "the fabric of that case has no room to repair in; its refusal comes before the store"),
    ("putSubnetMode", 503, "*", "without a connection only observe can be set, which stores nothing"),
    ("submitJob", 422, "jobs.unreachable", "needs rails whose nodes one switch joins and adapters on no common rail; tests/unit/placement has it"),
    ("submitJob", 422, "admission.noPorts", "all GPUs of the small fabric have adapters"),
    ("submitJob", 409, "admission.notConnected", "needs another subnet manager's tables in force that lose packets of a hose; tests/unit/control has it"),
    ("submitJob", 409, "admission.failuresUnknown", "needs another subnet manager's tables in force; tests/unit/control has it"),
    ("putContract", 409, "admission.failuresUnknown", "as the one before"),
    ("putQosClasses", 409, "qos.*", "needs ports that a live subnet was read from; tests/unit/live has it"),
    ("submitJob", 422, "qos.*", "as the one before"),
    ("submitJob", 409, "admission.hashedRoutes", "needs an Ethernet fabric; tests/unit/control has it"),
    ("submitJob", 409, "admission.tooManyFailures", "needs a job whose routes depend on more than 4,000 links"),
    ("putContract", 409, "admission.tooManyFailures", "needs a job whose routes depend on more than 4,000 links"),
    ("putContract", 409, "contracts.noKeys", "needs 32,766 contracts"),
    ("setReroute", 409, "routes.openSmRoutes", "without a connection only observe can be set"),
    ("*Reroute", 409, "routes.viewChanged", "needs the fabric to change three times, each while it is looked at"),
    ("*JobRoutes", 409, "routes.viewChanged", "as the one before"),
    ("*JobRoutes", 503, "*", "needs an Ethernet subnet with jobs in a service whose store fails"),
    ("*JobRoutes", 429, "service.busy", "needs an Ethernet subnet with jobs in a service that is kept busy"),
    ("*Reroute", 503, "*", "needs a guarantee at risk in a service whose store fails"),
    ("*Reroute", 429, "service.busy", "needs a guarantee at risk in a service that is kept busy"),
    ("acceptSubnetChanges", 412, "*", "needs another import while the change is worked out"),
    ("acceptSubnetChanges", 429, "service.busy", "needs something exchanged in a service that is kept busy"),
    ("acceptSubnetChanges", 503, "*", "needs something exchanged in a service whose store fails"),
    ("releaseLink", 503, "*", "without a live subnet no link flaps, and there is nothing to store"),
    ("rotateSubnetKey", 503, "*", "without a connection there are no keys, and there is nothing to store"),
    ("rotateSubnetKey", 429, "*", "as the one before"),
    ("putSubnetMode", 409, "subnets.linkCosts", "without a connection only observe can be set"),
    ("offerMoves", 503, "*", "needs something to move in a service whose store fails"),
    ("acceptMove", 503, "*", "as the one before"),
    ("declineMove", 503, "*", "as the one before"),
    ("issueToken", 409, "*", "needs 10,000 tokens, or the same random id twice"),
    ("issueToken", 503, "*", "as a tenant's change, through the same path"),
    ("issueToken", 429, "*", "as a tenant's change, through the same path"),
    ("revokeToken", 503, "*", "as a tenant's change, through the same path"),
    ("revokeToken", 429, "*", "as a tenant's change, through the same path"),
    ("putTopology", 413, "input.tooLarge", "the server's own limit on the body is the same"),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("railweaved")
    parser.add_argument("live_service")
    parser.add_argument("openapi")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hostile", type=float, default=1.0, help="how many hostile requests, 1.0 as usual")
    parser.add_argument("--only", help="cases whose name has one of these words in it, with commas between them; what is never seen is not counted then")
    options = parser.parse_args()
    contract = Contract(Path(options.openapi).read_text(encoding="utf-8"))
    started = time.monotonic()
    run = Run(contract, options)
    run.one_service()
    run.live_service()
    run.asking_services()
    run.troubled_services()
    unseen = [] if options.only or run.failed else never_seen(contract)
    for line in unseen:
        print(line)
    listed = sum(len(operation.responses) for operation in contract.operations.values())
    print(f"{run.passed} of {run.passed + len(run.failed)} cases pass; {contract.answers} answers held to the contract's "
          f"{len(contract.operations)} operations and {listed} statuses, {len(contract.seen_codes)} codes seen, "
          f"{len(unseen)} promises never seen, {len(EXCUSED)} excused; {run.hostile_summary}; {time.monotonic() - started:.1f} s")
    return 1 if run.failed or unseen else 0


class Run:
    def __init__(self, contract, options):
        self.contract, self.options = contract, options
        self.passed, self.failed, self.dead = 0, [], []
        self.hostile_summary = "no hostile requests"

    def wanted(self, name):
        return not self.options.only or name not in OF_THE_WHOLE and any(word in name for word in self.options.only.split(","))

    def attempt(self, name, case, *arguments):
        try:
            result = case(*arguments)
            self.passed += 1
            return result
        except Exception as error:  # noqa: BLE001: whatever it is, the other cases run too
            self.failed.append(name)
            print(f"FAILED {name}: {type(error).__name__}: {error}")
            if not isinstance(error, Exception) or type(error).__name__ not in ("ContractBroken", "Unexpected"):
                traceback.print_exc(file=sys.stdout)
            self.tell_of_a_death(arguments)
            return None

    def tell_of_a_death(self, arguments):
        """What a service said that ended meanwhile, as a sanitizer's report; once."""
        service = next((argument.service for argument in arguments if isinstance(argument, Session)), None)
        if service and service.process and service.process.poll() is not None and service not in self.dead:
            self.dead.append(service)
            print(f"the service has ended with {service.process.returncode}:\n{service.log_text()[-6000:]}")

    def one_service(self):
        modules = (fabric_cases, route_cases, tenant_cases, job_cases, site_cases, path_cases, advice_cases, queue_cases,
                   job_change_cases, launch_cases, step_cases, event_cases, shape_cases, gang_cases,
                   guarantee_cases, agent_cases, reroute_cases, job_route_cases, spread_cases, webhook_cases, null_cases, service_cases,
                   http_cases)
        with Service(self.options.railweaved) as service:
            key = service.folder / "certificate.key"
            subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(key)], check=True)
            key.chmod(0o600)
            session = Session(service.start("--certificate-key", str(key)), self.contract)
            for module in modules:
                for case in module.CASES:
                    name = f"{module.__name__}.{case.__name__}"
                    if self.wanted(name) or name in NEEDED:
                        self.attempt(name, case, session)
            if self.wanted("live_cases.without_connections"):
                self.attempt("live_cases.without_connections", live_cases.without_connections, session)
            if self.wanted("hostile"):
                summary = self.attempt("hostile", hostile.run, session, self.options.seed, self.options.hostile)
                self.hostile_summary = summary or self.hostile_summary
            session.close()
            if service.stop() != 0:
                self.failed.append("stop")
                print(f"FAILED stop: railweaved did not end well\n{service.log_text()[-3000:]}")

    def live_service(self):
        """The live fabric's cases, on subnets in memory."""
        if not self.wanted("live_cases"):
            return
        with Service(self.options.live_service) as service:
            session = Session(service.start(), self.contract)
            for case in live_cases.CASES[:-1] + [spread_cases.not_in_direct_mode] + live_cases.CASES[-1:]:
                self.attempt(f"{case.__module__}.{case.__name__}", case, session)
            session.close()
            if service.stop() != 0:
                self.failed.append("stop of the live service")
                print(f"FAILED stop: the live service did not end well\n{service.log_text()[-3000:]}")

    def asking_services(self):
        """Services that ask for tokens, one for each case."""
        for case in access_cases.CASES + member_cases.CASES + share_cases.CASES:
            name = f"{case.__module__}.{case.__name__}"
            if self.wanted(name):
                with Service(self.options.railweaved, authentication="tokens") as service:
                    self.attempt(name, case, service.start(), self.contract)

    def troubled_services(self):
        for case, settings in failure_cases.CASES:
            name = f"failure_cases.{case.__name__}"
            if not self.wanted(name):
                continue
            with tempfile.TemporaryDirectory(prefix="railweave-contract-") as folder:
                config = Path(folder) / "config.toml"
                config.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))
                with Service(self.options.railweaved, folder) as service:
                    session = Session(service.start("--config", str(config)), self.contract)
                    self.attempt(name, case, session)
                    session.close()


# What looks at the traces that all groups left, which a part of them does not leave.
OF_THE_WHOLE = {"event_cases.every_kind"}
# Those that the others build on.
NEEDED = {"fabric_cases.import_it", "tenant_cases.tenants"}


def never_seen(contract):
    lines, used = [], set()
    for holder, status, code in contract.unseen():
        reasons = [entry for entry in EXCUSED if fnmatch.fnmatch(holder, entry[0]) and status == entry[1] and
                   (code is None and entry[2] == "*" or code is not None and fnmatch.fnmatch(code, entry[2]))]
        used.update(reasons)
        if not reasons:
            lines.append(f"NEVER SEEN {holder} {status} {code or ''}: provoke it, or take it out of the contract")
    lines += [f"EXCUSED FOR NOTHING {entry}: it was seen, or is not in the contract" for entry in EXCUSED if entry not in used]
    return lines


if __name__ == "__main__":
    sys.exit(main())
