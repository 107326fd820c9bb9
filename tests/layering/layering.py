#!/usr/bin/env python3
"""Reads every #include of the tree and reports those that break the rules of ARCHITECTURE.md, and types that are defined
twice: two types of one name in one namespace are undefined behaviour that no linker reports. Exit code 1 if any does.

layering.py ROOT            checks a tree
layering.py --self-test     plants a breach of every rule and expects each to be refused
"""
import re
import sys
import tempfile
from pathlib import Path

# Folder -> the folders whose headers it may include (itself always). Every folder with sources has a line of its own, and
# a line speaks of that folder alone: what is below it has lines too. Arrows go down; check_rules() refuses a circle.
MAY_INCLUDE = {
    # fabric: the physical fabric and its routes.
    "fabric/base": [],
    "fabric/base/text": [],
    # For what has an edge to the world. The pure core returns what it did, and has no log.
    "fabric/base/log": ["fabric/base"],
    "fabric/base/process": ["fabric/base"],
    "fabric/base/worker": ["fabric/base"],
    "fabric/topology": ["fabric/base"],
    "fabric/topology/checks": ["fabric/base", "fabric/topology"],
    "fabric/health": ["fabric/base", "fabric/topology"],
    "fabric/generate": ["fabric/base", "fabric/topology"],
    "fabric/formats/text": ["fabric/base", "fabric/base/text", "fabric/topology"],
    "fabric/formats/infiniband": ["fabric/base", "fabric/base/text", "fabric/topology", "fabric/formats/text"],
    "fabric/formats/native": ["fabric/base", "fabric/base/text", "fabric/topology", "fabric/formats/text"],
    "fabric/formats/gpu": ["fabric/base", "fabric/topology", "fabric/formats/text"],
    "fabric/formats/sonic": ["fabric/base"],
    # Facts of hosts, of which sources without cables are readers.
    "fabric/formats/site": ["fabric/base", "fabric/topology", "fabric/formats/text"],
    "fabric/formats/slurm": ["fabric/base", "fabric/topology", "fabric/formats/text", "fabric/formats/site"],
    "fabric/formats/kubernetes": ["fabric/base", "fabric/topology", "fabric/formats/text", "fabric/formats/site", "fabric/formats/slurm"],
    "fabric/formats/ethernet": ["fabric/base", "fabric/topology", "fabric/formats/text"],
    # All that a site has, as one fabric.
    "fabric/formats/sources": ["fabric/base", "fabric/topology", "fabric/formats", "fabric/formats/text", "fabric/formats/infiniband",
                               "fabric/formats/native", "fabric/formats/gpu", "fabric/formats/site", "fabric/formats/slurm",
                               "fabric/formats/kubernetes", "fabric/formats/ethernet"],
    "fabric/formats": ["fabric/base", "fabric/topology", "fabric/formats/text", "fabric/formats/infiniband", "fabric/formats/native"],
    "fabric/routing/plane": ["fabric/base", "fabric/topology"],
    "fabric/routing/up_down": ["fabric/base", "fabric/topology", "fabric/routing/plane"],
    "fabric/routing/levels": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/routing/audit"],
    # What engines of a known shape share: detours around failures go up and down.
    "fabric/routing/shaped": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/routing/up_down"],
    "fabric/routing/torus": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/routing/up_down", "fabric/routing/levels",
                             "fabric/routing/shaped"],
    "fabric/routing/dragonfly": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/routing/up_down", "fabric/routing/levels",
                                 "fabric/routing/shaped"],
    "fabric/routing/layered": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/routing/up_down", "fabric/routing/levels"],
    "fabric/routing": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/routing/up_down", "fabric/routing/torus",
                       "fabric/routing/dragonfly", "fabric/routing/layered"],
    # Audits check tables, so they know no engine.
    "fabric/routing/audit": ["fabric/base", "fabric/topology", "fabric/routing/plane"],
    "fabric/routing/delta": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/routing/audit"],
    "fabric/routing/multipath": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/routing/up_down", "fabric/routing/audit"],
    "fabric/routing/traffic": ["fabric/base", "fabric/topology", "fabric/routing/plane"],
    "fabric/routing/opensm": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/routing/audit"],
    "fabric/flow": ["fabric/base", "fabric/topology", "fabric/routing/plane"],
    "fabric/capacity": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/flow"],
    # A plan and the values it is made of; drivers write them.
    "fabric/qos": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/capacity"],
    "fabric/drivers": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/routing/delta", "fabric/qos"],
    "fabric/drivers/infiniband/mad": ["fabric/base", "fabric/topology"],
    # What the subnet's administration answers, from a snapshot.
    "fabric/drivers/infiniband/administration": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/routing/levels", "fabric/qos",
                                                 "fabric/drivers/infiniband/mad"],
    # What a node's description says of its host is read as the file formats read it.
    "fabric/drivers/infiniband": ["fabric/base", "fabric/topology", "fabric/formats/text", "fabric/formats/infiniband",
                                  "fabric/routing/plane", "fabric/qos", "fabric/drivers", "fabric/drivers/infiniband/mad",
                                  "fabric/drivers/infiniband/administration", "fabric/base/worker"],
    "fabric/drivers/opensm/local": ["fabric/base", "fabric/base/worker"],
    "fabric/drivers/opensm/protocol": ["fabric/base", "fabric/base/text", "fabric/formats/text", "fabric/qos", "fabric/drivers/opensm/local"],
    "fabric/drivers/opensm/files": ["fabric/base", "fabric/qos"],
    # OpenSM's view of the subnet is raw attributes and becomes a Topology as dumps do.
    "fabric/drivers/opensm/routing": ["fabric/base", "fabric/topology", "fabric/formats/text", "fabric/formats/infiniband", "fabric/routing",
                                      "fabric/routing/plane", "fabric/routing/audit", "fabric/drivers/opensm/protocol"],
    "fabric/drivers/opensm/plugin": ["fabric/base", "fabric/drivers/infiniband/mad", "fabric/drivers/opensm/local",
                                     "fabric/drivers/opensm/protocol", "fabric/drivers/opensm/routing"],
    "fabric/drivers/simulated": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/qos", "fabric/drivers"],
    "fabric/drivers/linux_tc": ["fabric/base"],
    "fabric/drivers/linux_routes": ["fabric/base", "fabric/drivers/linux_tc"],
    # scheduler: job < collective < placement < queue, admission.
    "scheduler/job": ["fabric/base", "fabric/base/text", "fabric/topology"],
    # The duration of a collective depends on the routes of its flows and on who else uses their links.
    "scheduler/collective": ["fabric/base", "fabric/topology", "fabric/flow", "scheduler/job"],
    # Shares no code with the search.
    "scheduler/placement/check": ["fabric/base", "fabric/topology", "scheduler/job"],
    "scheduler/placement/fit": ["fabric/base", "fabric/topology", "fabric/flow", "scheduler/job", "scheduler/collective"],
    "scheduler/placement/score": ["fabric/base", "fabric/topology", "fabric/routing/plane", "scheduler/job", "scheduler/collective", "scheduler/placement/fit"],
    "scheduler/placement/search": ["fabric/base", "fabric/topology", "scheduler/job", "scheduler/collective", "scheduler/placement/fit",
                                   "scheduler/placement/score"],
    "scheduler/placement/explain": ["fabric/base", "fabric/topology", "scheduler/job", "scheduler/placement/fit", "scheduler/placement/search"],
    "scheduler/placement": ["fabric/base", "fabric/topology", "scheduler/job", "scheduler/collective", "scheduler/placement/fit",
                            "scheduler/placement/score", "scheduler/placement/search", "scheduler/placement/explain"],
    # Roles that exchange data, placed together.
    "scheduler/placement/roles": ["fabric/base", "fabric/topology", "scheduler/job", "scheduler/collective", "scheduler/placement",
                                  "scheduler/placement/check", "scheduler/placement/fit", "scheduler/placement/score", "scheduler/placement/search"],
    # The queue: what the operator sets < plans on the tree (cycles, repair) < what the service asks for.
    "scheduler/queue/policy": ["fabric/base", "fabric/topology", "scheduler/job"],
    "scheduler/queue/cycle": ["fabric/base", "fabric/base/text", "fabric/topology", "scheduler/job", "scheduler/placement", "scheduler/placement/fit",
                              "scheduler/queue/policy"],
    "scheduler/queue/repair": ["scheduler/queue/cycle", "fabric/base", "fabric/topology", "scheduler/job", "scheduler/placement", "scheduler/placement/check",
                               "scheduler/placement/fit", "scheduler/placement/score", "scheduler/placement/search", "scheduler/queue/policy"],
    "scheduler/queue": ["fabric/base", "fabric/base/text", "scheduler/job", "scheduler/placement", "scheduler/queue/policy", "scheduler/queue/cycle"],
    "scheduler/admission": ["fabric/base", "fabric/base/text", "fabric/topology", "fabric/routing/plane", "fabric/capacity", "fabric/qos"],
    "db": ["fabric/base", "fabric/base/text"],
    "db/sqlite": ["fabric/base", "db"],
    "db/postgres": ["fabric/base", "fabric/base/log", "fabric/base/worker", "db"],
    # api: the contract and its transport. Knows no domain type.
    "api": [],
    "api/http/message": ["fabric/base", "fabric/base/text"],
    "api/http/dispatch": ["fabric/base", "api/http/message"],
    "api/http/connection": ["fabric/base", "fabric/base/text", "api/http/message", "api/http/dispatch"],
    "api/http": ["fabric/base", "api/http/message", "api/http/dispatch", "api/http/connection"],
    "api/client": ["fabric/base", "fabric/base/text", "api/http/message"],
    "api/operations": ["fabric/base"],
    "api/contract": [],
    # services/control, from the bottom up.
    # Records are compared with the contract as they are compiled.
    "services/json": ["api/contract", "fabric/base", "fabric/base/text"],
    "services/control/state": ["fabric/base", "fabric/topology", "fabric/capacity", "fabric/qos", "scheduler/job", "scheduler/placement/fit",
                               "scheduler/queue/policy", "scheduler/admission"],
    "services/control/events": ["fabric/base", "fabric/base/text", "fabric/qos", "fabric/topology", "scheduler/admission", "scheduler/job", "scheduler/placement/fit",
                                "scheduler/placement/score", "scheduler/queue/cycle", "scheduler/queue/policy", "db", "services/control/state"],
    "services/control/views": ["fabric/base", "fabric/topology", "fabric/routing", "fabric/routing/plane", "fabric/routing/audit", "fabric/routing/traffic", "fabric/flow",
                               "fabric/capacity", "scheduler/job", "scheduler/collective", "scheduler/placement", "scheduler/placement/fit",
                               "scheduler/placement/score", "scheduler/admission", "services/control/state"],
    # What agents on the nodes are to limit, and what they report.
    "services/control/agents": ["fabric/base", "fabric/topology", "fabric/capacity", "services/control/state", "services/control/views"],
    "services/control/guarantees": ["fabric/base", "fabric/topology", "fabric/routing/plane", "fabric/capacity", "fabric/qos", "scheduler/placement/fit",
                                    "scheduler/queue/cycle", "scheduler/queue/repair", "scheduler/admission", "services/control/state", "services/control/events",
                                    "services/control/views"],
    "services/control/decide": ["fabric/base", "fabric/base/text", "fabric/topology", "scheduler/job", "scheduler/placement/check", "scheduler/placement/fit",
                                "scheduler/placement", "scheduler/placement/roles", "scheduler/placement/score", "scheduler/queue", "scheduler/queue/cycle",
                                "scheduler/queue/repair", "services/control/state", "services/control/events", "services/control/views",
                                "services/control/guarantees"],
    "services/control": ["fabric/base", "fabric/base/log", "fabric/base/worker", "db", "services/control/state", "services/control/events", "services/control/views", "services/control/decide"],
    # The durable form of events and states: a journal must not change because a web answer does.
    "services/control/codec": ["fabric/base", "fabric/base/text", "fabric/topology", "fabric/formats", "scheduler/job", "scheduler/collective",
                               "scheduler/placement/fit", "scheduler/placement/score", "scheduler/queue/policy", "services/json",
                               "services/control/state", "services/control/events"],
    # Live subnets: a connection, the links it finds, the tables of ports, the routes, and the controller that joins them.
    "services/control/live/status": ["fabric/base", "fabric/topology", "fabric/formats/native", "fabric/health", "fabric/routing/plane", "fabric/routing/audit", "services/json",
                                     "services/control/state", "services/control/events"],
    "services/control/live/connection": ["fabric/base", "fabric/base/log", "fabric/capacity", "fabric/health", "fabric/drivers", "services/control/state",
                                         "services/control/events", "services/control/views", "services/control/live/status"],
    "services/control/live/links": ["fabric/base", "fabric/base/log", "fabric/base/text", "fabric/topology", "fabric/health", "fabric/drivers", "services/control/state",
                                    "services/control/views", "services/control/live/status", "services/control/live/connection"],
    "services/control/live/cabling": ["fabric/base", "fabric/base/worker", "fabric/topology", "fabric/formats/native", "fabric/drivers", "services/json",
                                      "services/control/state", "services/control/events", "services/control/live/status",
                                      "services/control/live/connection", "services/control/live/links"],
    "services/control/live/ports": ["fabric/base", "fabric/routing/plane", "fabric/qos", "fabric/drivers", "fabric/drivers/opensm/files", "fabric/drivers/opensm/local",
                                    "fabric/drivers/opensm/protocol",
                                    "services/control/state", "services/control/views", "services/control/live/status",
                                    "services/control/live/connection", "services/control/live/links"],
    "services/control/live/routes": ["fabric/base", "fabric/base/worker", "fabric/routing", "fabric/routing/plane", "fabric/routing/audit", "fabric/routing/delta", "fabric/routing/traffic", "fabric/drivers",
                                     "services/control/state",
                                     "services/control/views", "services/control/live/status", "services/control/live/connection", "services/control/live/links",
                                     "services/control/live/ports"],
    "services/control/live": ["fabric/base", "fabric/base/log", "fabric/base/worker", "fabric/drivers/opensm/protocol", "services/control", "services/control/state", "services/control/views",
                              "services/control/live/status", "services/control/live/connection", "services/control/live/links",
                              "services/control/live/cabling", "services/control/live/ports", "services/control/live/routes"],
    # services/rest: what the service answers.
    "services/rest": ["db", "services/control", "services/control/agents", "services/control/events", "services/control/views", "services/control/live/status",
                      "services/rest/replication"],
    # A request that this replica cannot answer goes to the one that leads.
    "services/rest/replication": ["fabric/base", "fabric/base/text", "api/http/message", "api/http/dispatch", "api/client", "services/rest/access"],
    # Who a caller is and what it may call.
    "services/rest/access": ["fabric/base", "fabric/base/log", "fabric/base/worker", "fabric/base/text", "db", "services/json", "services/control/state", "services/control/events", "services/control/codec",
                             "api/contract", "api/http/message", "api/http/dispatch", "api/client"],
    # Events sent to users' addresses.
    "services/webhooks": ["fabric/base", "fabric/base/log", "fabric/base/worker", "db", "api/client", "services/control", "services/control/events", "services/control/codec",
                          "services/json", "services/rest/access"],
    # What answers say: values of several subjects, then the subjects.
    "services/rest/json": ["fabric/base", "fabric/base/text", "fabric/topology", "services/control/views", "services/json"],
    "services/rest/json/fabric": ["fabric/base", "fabric/base/text", "fabric/health", "fabric/routing/delta", "fabric/routing/plane", "fabric/topology",
                                  "fabric/topology/checks", "scheduler/placement/fit", "services/control/decide", "services/control/live/status",
                                  "services/control/state", "services/control/views", "services/json", "services/rest/json"],
    "services/rest/json/live": ["fabric/base", "fabric/base/text", "services/control/live/status", "services/control/state", "services/control/views", "services/json",
                                "services/rest/json", "services/rest/json/fabric"],
    "services/rest/json/ranks": ["fabric/base", "fabric/topology", "scheduler/placement", "scheduler/placement/fit", "services/control/state"],
    "services/rest/json/guarantees": ["fabric/base", "fabric/base/text", "fabric/capacity", "fabric/drivers/linux_tc", "fabric/qos",
                                      "scheduler/admission", "services/control/agents", "services/control/codec", "services/control/events",
                                      "services/control/guarantees", "services/control/live/status", "services/control/state", "services/control/views",
                                      "services/json", "services/rest/json", "services/rest/json/ranks"],
    "services/rest/json/jobs": ["fabric/base", "fabric/base/text", "fabric/capacity", "scheduler/collective", "scheduler/job", "scheduler/placement",
                                "scheduler/placement/fit", "scheduler/placement/score", "scheduler/queue/cycle", "services/control/codec",
                                "services/control/decide", "services/control/events", "services/control/live/status", "services/control/state",
                                "services/control/views", "services/json", "services/rest/json", "services/rest/json/fabric",
                                "services/rest/json/guarantees", "services/rest/json/ranks"],
    "services/rest/json/queue": ["fabric/base", "fabric/base/text", "scheduler/queue/policy", "scheduler/queue/repair", "services/control/codec",
                                 "services/control/decide", "services/control/events", "services/control/guarantees", "services/json",
                                 "services/rest/json", "services/rest/json/jobs"],
    "services/rest/json/access": ["db", "fabric/base", "fabric/base/text", "services/control/codec", "services/control/state", "services/json"],
    "services/rest/json/service": ["api/operations", "fabric/base", "fabric/base/text", "services/control/state", "services/json", "services/rest/json"],
    # What every handler uses: the table of routes, pages of lists, answers.
    "services/rest/handlers": ["api/contract", "api/http/dispatch", "api/http/message", "api/operations", "fabric/base", "services/control/decide",
                               "services/control/views", "services/rest", "services/rest/access", "services/rest/json", "services/rest/json/guarantees",
                               "services/rest/json/jobs", "services/webhooks"],
    "services/rest/handlers/fabric": ["fabric/base", "fabric/base/text", "fabric/formats", "fabric/formats/gpu", "fabric/formats/native",
                                      "fabric/routing/opensm", "fabric/topology", "services/control/decide", "services/control/state",
                                      "services/control/views", "services/json", "services/rest", "services/rest/handlers", "services/rest/json",
                                      "services/rest/json/fabric"],
    "services/rest/handlers/live": ["api/http/message", "api/operations", "fabric/base/worker", "services/control/live/status", "services/control/views", "services/rest",
                                    "services/rest/access", "services/rest/handlers", "services/rest/handlers/fabric", "services/rest/json",
                                    "services/rest/json/fabric", "services/rest/json/live"],
    "services/rest/handlers/jobs": ["api/http/dispatch", "api/http/message", "fabric/base", "fabric/base/text", "fabric/base/worker", "fabric/formats",
                                    "fabric/formats/gpu", "fabric/formats/native", "fabric/generate", "scheduler/placement", "scheduler/queue/cycle",
                                    "services/control/decide", "services/control/events", "services/control/guarantees", "services/control/state",
                                    "services/control/views", "services/json", "services/rest", "services/rest/access", "services/rest/handlers",
                                    "services/rest/handlers/fabric", "services/rest/json", "services/rest/json/fabric", "services/rest/json/guarantees",
                                    "services/rest/json/jobs", "services/rest/json/queue", "services/rest/json/ranks"],
    "services/rest/handlers/queue": ["fabric/base/text", "scheduler/queue/cycle", "services/control/views", "services/rest/access",
                                     "services/rest/handlers", "services/rest/handlers/jobs", "services/rest/json", "services/rest/json/queue"],
    "services/rest/handlers/guarantees": ["services/control/agents", "services/control/decide", "services/control/views", "services/rest",
                                          "services/rest/handlers", "services/rest/handlers/fabric", "services/rest/handlers/jobs", "services/rest/json",
                                          "services/rest/json/access", "services/rest/json/fabric", "services/rest/json/guarantees"],
    "services/rest/handlers/access": ["fabric/base/text", "services/control/codec", "services/json", "services/rest/access", "services/rest/handlers",
                                      "services/rest/json", "services/rest/json/access"],
    "services/rest/handlers/service": ["api", "api/http/message", "db", "fabric/base/text", "services/json", "services/rest/access",
                                       "services/rest/handlers", "services/rest/handlers/live", "services/rest/json", "services/rest/json/service"],
    "services/rest/certificates": ["fabric/routing/opensm", "services/json", "services/control", "services/control/agents", "services/control/views",
                                   "services/rest", "services/rest/json/guarantees",
                                   "services/rest/handlers", "services/rest/handlers/guarantees"],
    # The console's built files: knows nothing of what they show.
    "services/rest/console": ["fabric/base", "api/http/message", "api/http/dispatch"],
    "services/railweaved": ["fabric/base", "fabric/base/log", "fabric/routing", "fabric/drivers/infiniband", "db", "db/sqlite", "db/postgres", "api/http", "api/operations", "services/json", "services/control",
                            "services/control/events", "services/control/codec", "services/control/views", "services/control/live", "services/control/live/connection", "services/rest", "services/rest/access",
                            "services/rest/handlers", "services/rest/replication", "services/rest/certificates", "services/rest/console", "services/webhooks"],
    # Joins Slurm to the contract, as the CLI joins people to it.
    "services/slurm/ranks": ["fabric/base", "fabric/formats/slurm"],
    # Loaded by Slurm's programs on every node: knows nothing of REST.
    "services/slurm/job_submit": [],
    "services/slurm/spank": ["fabric/formats/slurm", "services/slurm/ranks"],
    "services/slurm": ["fabric/base", "fabric/base/process", "fabric/base/text", "fabric/formats/slurm", "services/slurm/ranks", "api/client", "api/http/message", "services/railweave/terminal",
                       "services/railweave/connection"],
    # Checks certificates and must not trust our code: it has none of it.
    "services/verify": [],
    # The CLI knows the REST contract only; `railweave lab` works offline on the libraries.
    "services/railweave/terminal": ["api/contract", "fabric/base", "fabric/base/worker", "fabric/base/text"],
    "services/railweave/connection": ["fabric/base", "fabric/base/text", "api/client", "api/http/message", "services/railweave/terminal"],
    "services/railweave/command_line": ["fabric/base", "services/railweave/terminal", "services/railweave/connection"],
    "services/railweave/views": ["fabric/base", "services/railweave/terminal", "services/railweave/connection", "services/railweave/command_line"],
    # What the contract's native format becomes as a file of a scheduler.
    "services/railweave/commands/jobs": ["fabric/base", "services/railweave/terminal", "services/railweave/connection",
                                         "services/railweave/command_line", "services/railweave/views"],
    # What the service wants of an Ethernet switch as that switch's configuration.
    "services/railweave/switch_config": ["fabric/base", "fabric/drivers/linux_routes", "fabric/drivers/linux_tc", "fabric/formats/sonic", "fabric/qos",
                                         "services/railweave/terminal"],
    "services/railweave/commands/switches": ["fabric/base", "fabric/base/process", "fabric/base/text", "services/railweave/switch_config",
                                             "services/railweave/terminal", "services/railweave/connection",
                                             "services/railweave/command_line"],
    # What a site has already, as files.
    "services/railweave/site": ["fabric/base", "fabric/base/text", "fabric/topology", "fabric/topology/checks", "fabric/formats/sources",
                                "fabric/formats/native", "services/json", "services/rest/json/fabric", "services/railweave/terminal",
                                "services/railweave/connection", "services/railweave/command_line", "services/railweave/views"],
    "services/railweave/commands": ["services/railweave/site", "services/railweave/commands/jobs", "services/railweave/commands/switches", "fabric/base", "fabric/base/process", "fabric/base/text", "fabric/topology", "fabric/formats/text", "fabric/formats/native", "fabric/formats/slurm",
                                    "services/railweave/terminal", "services/railweave/connection",
                                    "services/railweave/command_line", "services/railweave/views"],
    "services/railweave/lab/flows": ["fabric/base", "fabric/flow", "fabric/routing/plane", "fabric/routing/traffic", "fabric/qos", "scheduler/job", "scheduler/collective", "scheduler/placement",
                                     "scheduler/placement/fit", "scheduler/placement/score", "scheduler/admission",
                                     "services/rest/json/jobs", "services/railweave/terminal"],
    "services/railweave/lab/replay": ["fabric/base", "fabric/flow", "fabric/qos", "fabric/routing", "fabric/routing/plane", "fabric/routing/traffic", "scheduler/job", "scheduler/collective", "scheduler/placement/fit", "scheduler/placement/score",
                                      "scheduler/queue", "scheduler/queue/policy", "scheduler/queue/repair", "services/railweave/terminal"],
    "services/railweave/lab/qos": ["fabric/base", "fabric/drivers/opensm/files", "fabric/topology", "fabric/flow", "fabric/formats/sonic", "fabric/qos", "fabric/drivers/linux_tc",
                                   "services/railweave/terminal"],
    "services/railweave/assess": ["fabric/base", "fabric/base/text", "fabric/qos", "services/railweave/lab/flows", "fabric/topology", "fabric/topology/checks", "fabric/formats/sources", "fabric/formats/slurm",
                                  "fabric/routing/plane", "fabric/routing/audit", "fabric/routing/opensm", "scheduler/job", "scheduler/collective",
                                  "scheduler/placement", "scheduler/placement/fit", "services/railweave/terminal", "services/railweave/connection",
                                  "services/railweave/command_line", "services/railweave/views", "services/railweave/site",
                                  "services/railweave/lab", "services/railweave/lab/replay"],
    "services/railweave/lab/plan": ["fabric/base", "fabric/topology", "fabric/generate", "scheduler/job", "scheduler/placement", "scheduler/placement/fit",
                                    "services/railweave/terminal", "services/railweave/lab/flows"],
    "services/railweave/lab": ["services/railweave/site", "fabric/base", "fabric/topology", "fabric/topology/checks", "fabric/formats", "fabric/formats/sources", "fabric/formats/gpu",
                               "fabric/formats/infiniband", "fabric/formats/native", "fabric/formats/slurm", "fabric/generate", "fabric/routing",
                               "fabric/routing/plane", "fabric/routing/audit", "fabric/routing/delta", "fabric/routing/multipath",
                               "fabric/routing/opensm", "fabric/routing/traffic", "fabric/qos", "scheduler/job", "scheduler/placement", "scheduler/placement/fit",
                               "services/json", "services/rest/json", "services/rest/json/fabric", "services/rest/json/jobs", "services/railweave/terminal", "services/railweave/command_line",
                               "services/railweave/views", "services/railweave/commands", "services/railweave/commands/jobs", "services/railweave/lab/flows",
                               "services/railweave/lab/qos", "services/railweave/lab/replay", "services/railweave/lab/plan"],
    # Stores themselves.
    "services/railweave/admin": ["fabric/base", "fabric/topology", "scheduler/placement/fit", "db", "db/sqlite", "db/postgres", "services/json", "services/control/state", "services/control/codec", "services/control/events",
                                 "services/railweave/terminal", "services/railweave/connection", "services/railweave/command_line"],
    "services/railweave/collect": ["fabric/base", "fabric/topology", "fabric/drivers", "fabric/drivers/infiniband", "services/railweave/terminal",
                                   "services/railweave/connection", "services/railweave/command_line"],
    # What others need to help, without secrets.
    "services/railweave/support": ["fabric/base", "fabric/base/text", "api/http/message", "services/railweave/terminal", "services/railweave/connection",
                                   "services/railweave/command_line"],
    "services/railweave": ["services/railweave/admin", "services/railweave/assess", "services/railweave/collect", "services/railweave/support", "services/railweave/terminal", "services/railweave/connection", "services/railweave/command_line",
                           "services/railweave/commands", "services/railweave/commands/jobs", "services/railweave/lab"],
}

# Third-party header -> the folders that may include it (with what is below them).
ONLY_IN = [
    (re.compile(r"^nlohmann/"), ["services/json", "services/control/codec", "services/rest/json", "services/railweave", "services/slurm",
                                 "services/verify", "fabric/formats/sonic"]),
    (re.compile(r"^(pqxx/|libpq-fe)"), ["db/postgres"]),
    (re.compile(r"^sqlite3\.h$"), ["db/sqlite"]),
    (re.compile(r"^boost/(asio|beast)"), ["api/http/connection", "api/client"]),
    (re.compile(r"^(infiniband/|opensm/|complib/|iba/)"), ["fabric/drivers/infiniband", "fabric/drivers/opensm/plugin"]),
    (re.compile(r"^slurm/"), ["services/slurm/spank", "services/slurm/job_submit"]),
    (re.compile(r"^pugixml"), ["fabric/formats/gpu"]),
    (re.compile(r"^cjose/"), ["services/rest/access"]),
    (re.compile(r"^spdlog/"), ["services/railweaved"]),
    (re.compile(r"^CLI/"), ["services/railweaved", "services/railweave", "services/slurm"]),
    (re.compile(r"^toml\+\+/"), ["services/railweaved"]),
    (re.compile(r"^yaml-cpp/"), ["services/railweave/terminal"]),
    (re.compile(r"^openssl/"), ["services/json", "services/rest/access", "services/verify", "api/http/connection", "api/client"]),
    (re.compile(r"^zlib\.h$"), ["api/http/message", "db"]),
    (re.compile(r"^spawn\.h$"), ["fabric/base/process"]),
]

# Pure folders: no clock, thread, randomness of the machine, console, file or log. Time is an input.
PURE = ["fabric", "scheduler", "services/control/state", "services/control/guarantees", "services/json", "services/control/codec"]
IMPURE_BELOW = ["fabric/drivers", "fabric/base/process", "fabric/base/worker"]
IMPURE = {"thread", "mutex", "condition_variable", "future", "iostream", "fstream", "filesystem", "random", "ctime", "unistd.h"}
# Parallel computation inside the pure core, with the same result on any number of threads.
PURE_EXCEPTIONS = {("fabric/routing/plane", "thread")}
# Calendars of <chrono> are pure; reading a clock, the environment or the machine's randomness is not.
IMPURE_TOKENS = re.compile(r"\b(system_clock::now|steady_clock|high_resolution_clock|clock_gettime|gettimeofday|getenv|random_device|this_thread"
                           r"|std::cout|std::cerr|std::printf|std::fopen)\b")

MAX_LINES = 500
BANNED_NAMES = re.compile(r"(^|[_/])(utils?|common|helpers?|misc|manager)([_./]|$)")
SOURCES = ("fabric", "scheduler", "db", "api", "services")
NAMESPACE = re.compile(r"^namespace(?: ([\w:]+))? \{")
TYPE = re.compile(r"^(?:template <.*> )?(?:struct|class|enum class|enum|union) (\w+)(?: final)?(?: :[^:].*)? \{")  # as clang-format writes
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def folder_of(path):
    return path.rpartition("/")[0]


def check_rules():
    """The rules themselves: they name folders that have rules, and their arrows make no circle."""
    problems = [f"the rule of {folder} names {target}, which has no rule"
                for folder, allowed in MAY_INCLUDE.items() for target in allowed if target not in MAY_INCLUDE]
    below = {folder: set(allowed) for folder, allowed in MAY_INCLUDE.items()}
    while bottom := {folder for folder, targets in below.items() if not targets & below.keys()}:
        below = {folder: targets for folder, targets in below.items() if folder not in bottom}
    return problems + ([f"the rules of {', '.join(sorted(below))} make a circle"] if below else [])


def check(root):
    problems = []
    for top in SOURCES:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".h", ".cc") or not file.is_file():
                continue
            path = file.relative_to(root).as_posix()
            problems += check_file(path, file.read_text(encoding="utf-8").splitlines())
    return problems


def check_file(path, lines):
    problems = []
    if len(lines) > MAX_LINES:
        problems.append(f"{path}: {len(lines)} lines; split it by noun well before {MAX_LINES}")
    if BANNED_NAMES.search(path):
        problems.append(f"{path}: name it after the noun it is about")
    if folder_of(path) not in MAY_INCLUDE:
        return problems + [f"{path}: its folder has no rule; add one to tests/layering/layering.py"]
    for number, line in enumerate(lines, 1):
        if match := INCLUDE.match(line):
            problems += [f"{path}:{number}: {text}" for text in check_include(path, *match.groups())]
        elif is_pure(path) and (match := IMPURE_TOKENS.search(line.partition("//")[0])):
            problems.append(f"{path}:{number}: {match[0]}: this folder is pure (no clock, thread, console or environment)")
    return problems


def is_pure(path):
    return any(within(path, top) for top in PURE) and not any(within(path, top) for top in IMPURE_BELOW)


def check_definitions(root):
    """Types outside of unnamed namespaces, by their whole name."""
    places = {}
    for file in sorted(file for top in SOURCES + ("tests",) for file in (root / top).rglob("*") if file.suffix in (".h", ".cc")):
        inside = []
        for line in file.read_text(encoding="utf-8").splitlines():
            if opened := NAMESPACE.match(line):
                inside.append(opened[1])
            elif line.startswith("}  // namespace") and inside:
                inside.pop()
            elif (named := TYPE.match(line)) and None not in inside:
                places.setdefault("::".join([*inside, named[1]]), []).append(file.relative_to(root).as_posix())
    return [f"{name} is defined in {' and in '.join(files)}: give one another name" for name, files in places.items() if len(files) > 1]


def check_include(path, quote, header):
    folder = folder_of(path)
    if quote == '"':
        target = folder_of(header)
        allowed = MAY_INCLUDE[folder]
        if target not in MAY_INCLUDE:
            yield f'"{header}" is in no folder of the project'
        elif target != folder and target not in allowed:
            yield f"{folder} must not include {target} (\"{header}\"); it may include {', '.join(allowed) or 'nothing'}"
        return
    for pattern, places in ONLY_IN:
        if pattern.match(header) and not any(within(path, place) for place in places):
            yield f"<{header}> belongs in {', '.join(places)} only"
    if is_pure(path) and header in IMPURE and not any(within(path, at) and header == h for at, h in PURE_EXCEPTIONS):
        yield f"<{header}>: this folder is pure (no clock, thread, console or file)"


# One header for each pattern of ONLY_IN, in its order.
THIRD_PARTY = ["nlohmann/json.hpp", "pqxx/pqxx", "sqlite3.h", "boost/beast/core.hpp", "infiniband/umad.h", "slurm/spank.h", "pugixml.hpp", "cjose/cjose.h", "spdlog/spdlog.h",
               "CLI/CLI.hpp", "toml++/toml.h", "yaml-cpp/yaml.h", "openssl/evp.h", "zlib.h", "spawn.h"]

# Breaches that are not one include: path, text, what the report must say.
BREACHES = [
    ("fabric/topology/a.cc", "auto now = std::chrono::system_clock::now();", "is pure"),
    ("scheduler/queue/a.cc", "const char* home = std::getenv(name);", "is pure"),
    ("services/rest/json/a.cc", "\n" * 600, "600 lines"),
    ("services/rest/json/json_utils.h", "", "noun"),
    ("fabric/novel/a.h", "", "has no rule"),
    ("fabric/routing/novel/a.h", "", "has no rule"),
    ("services/a.h", "", "has no rule"),
    ("scheduler/job/a.h", '#include "no/such/folder.h"', "is in no folder"),
    ("scheduler/job/a.h", "namespace railweave {\nstruct A {\n};\nnamespace b {\nclass A : X {\n};\n}  // namespace b\nenum class A {\n};",
     "railweave::A is defined in scheduler/job/a.h and in scheduler/job/a.h"),
]


def planted_includes():
    """Every include that some rule refuses: each folder times each other folder, each third-party and each impure header."""
    for folder, allowed in MAY_INCLUDE.items():
        path = f"{folder}/a.cc"
        for target in MAY_INCLUDE:
            if target != folder and target not in allowed:
                yield path, f'#include "{target}/b.h"', f"must not include {target} "
        for (_, places), header in zip(ONLY_IN, THIRD_PARTY, strict=True):
            if not any(within(path, place) for place in places):
                yield path, f"#include <{header}>", "belongs in"
        for header in IMPURE if is_pure(path) else []:
            if not any(within(path, at) and header == h for at, h in PURE_EXCEPTIONS):
                yield path, f"#include <{header}>", "is pure"


def self_test():
    seen, missed = 0, []
    for path, text, expected in planted_includes():
        found = check_file(path, [text])
        seen += any(expected in problem for problem in found)
        missed += [] if any(expected in problem for problem in found) else [(path, text)]
    for path, text, expected in BREACHES:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / path
            file.parent.mkdir(parents=True)
            file.write_text(text + "\n" if not text.endswith("\n") else text, encoding="utf-8")
            found = check(Path(folder)) + check_definitions(Path(folder))
            seen += any(expected in problem for problem in found)
            missed += [] if any(expected in problem for problem in found) else [(path, text.strip())]
    for allowed, expected in (({"a": ["b"], "b": ["c"], "c": ["a"]}, "make a circle"), ({"a": ["gone"]}, "has no rule")):
        rules = dict(MAY_INCLUDE)
        MAY_INCLUDE.update(allowed)
        planted = any(expected in problem for problem in check_rules())
        MAY_INCLUDE.clear()
        MAY_INCLUDE.update(rules)
        seen += planted
        missed += [] if planted else [("the rules", str(allowed))]
    # What a rule allows must pass: a test that refuses everything would see every breach.
    refused = [problem for folder, allowed in MAY_INCLUDE.items() for target in allowed
               for problem in check_file(f"{folder}/a.cc", [f'#include "{target}/b.h"'])]
    for path, text in missed:
        print(f"not refused: {path} with {text!r}")
    print("\n".join(f"refused although allowed: {problem}" for problem in refused))
    print(f"{seen} of {seen + len(missed)} planted breaches refused")
    return not missed and not refused and seen > 1000


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 0 if self_test() else 1
    problems = check_rules() + check(Path(sys.argv[1])) + check_definitions(Path(sys.argv[1]))
    print("\n".join(problems) if problems else "every include keeps the rules, and every type has a name of its own")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
