"""The fabric: what is in it, its lists, its import."""
import json

from session import until_deadline
from small_fabric import LINK, NETLIST, fabric, guid

LISTS = ("listNodes", "listSwitches", "listLinks", "listNvlinkDomains", "listRails", "listRacks", "listSubnets")


def before_any_import(session):
    summary = session.call("getFabric", 200).json
    assert summary["digest"] == "" and summary["hosts"] == 0, summary
    session.call("getFindings", 200)
    assert session.call("getFabricMap", 200).json["groups"] == []
    for operation, request in (("getRoutes", {}), ("auditRoutes", {}), ("getPath", {"query": {"from": "a", "to": "b"}}),
                               ("diffRoutes", {"body": {"failLinks": [LINK]}}), ("listGuaranteedLinks", {}), ("getCertificate", {}), ("proposeReroute", {}), ("setReroute", {"body": {}}),
                               ("getFdbs", {})):
        session.call(operation, 409, "routes.noFabric", **request)
    topology = session.call("getTopology", 200)
    session.call("getTopology", 304, headers={"If-None-Match": topology.header("ETag")})
    for operation in LISTS:
        page = session.call(operation, 200).json
        assert page == {"items": [], "nextCursor": None, "seq": page["seq"]}, page
    session.call("putTopology", 412, "precondition.versionDiffers", query={"format": "native"}, body=fabric(),
                 headers={"If-Match": "*"})  # there is none yet


def refused_imports(session):
    def refuse(code, body, status=400, **query):
        answer = session.call("putTopology", status, code, query=query, body=body, valid=None,
                              headers={"Content-Type": "text/plain"})
        assert answer.json["detail"], answer.json

    refuse("input.format", "neither of these\n")
    refuse("input.format", b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 20)
    refuse("input.encoding", "\ufeff".encode("utf-16-le") + NETLIST.encode("utf-16-le"), format="ibsim")
    refuse("input.notAFabric", "x", format="nvlinkCliques")
    refuse("nvlinkCliques.empty", json.dumps({"files": [{"name": "net", "text": NETLIST}, {
        "name": "cliques", "format": "nvlinkCliques", "text": "node,clusterUuid,cliqueId\nnode-1,N/A,N/A\n"}]}), format="files")
    refuse("nvidiaSmiTopo.malformed", json.dumps({"files": [{"name": "net", "text": NETLIST}, {
        "name": "topo", "format": "nvidiaSmiTopo", "text": "\tGPU0\tGPU0\nGPU0\tX\tX\n"}]}), format="files")
    refuse("ncclTopology.malformed", json.dumps({"files": [{"name": "net", "text": NETLIST, "format": "ibsim"}, {
        "name": "node", "format": "ncclTopology", "text": "<system><cpu></system>"}]}), format="files")
    refuse("input.noDevice", "# nothing\n", format="ibsim")
    for body in ("{", "{}", '{"files": []}', '{"files": [{"text": "x"}]}'):
        refuse("input.files", body, format="files")
    refuse("input.unreadable", json.dumps({"files": [{"name": "a", "text": NETLIST}, {"name": "b", "format": "ibsim", "text": "Switch 4 \"e\n]]\n"}]}),
           format="files")
    assert session.call("getFabric", 200).json["hosts"] == 0, "all files or none"
    refuse("input.unreadable", "Switch 4 \"edge-1\n]]\n", format="ibsim")
    refuse("ibsim.include", 'include "/etc/passwd"\n' + NETLIST, format="ibsim")
    refuse("topology.unknownFormat", NETLIST, format="visio")
    refuse("query.invalidFlag", NETLIST, merge="perhaps")
    refuse("query.invalidNumber", NETLIST, gpusPerNode="eight")
    refuse("query.unknownParameter", NETLIST, formt="ibsim")
    refuse("gpus.perNode", NETLIST, format="ibsim", gpusPerNode="65")
    refuse("gpus.nvlinkDomain", NETLIST, format="ibsim", gpusPerNode="8", nvlinkDomain="3")
    refuse("gpus.noHost", json.dumps(fabric()), gpusPerNode="8")
    refuse("fabric.empty", '{"railweave":"fabric","version":1}')
    refuse("native.kind", '{"version":1}', format="native")
    refuse("native.version", '{"railweave":"fabric","version":2}')
    refuse("json.syntax", '{"railweave":"fabric","version":1,')
    refuse("json.unknownField", '{"railweave":"fabric","version":1,"hots":[]}')
    refuse("native.reference", json.dumps({**fabric(), "racks": []}))
    refuse("fabric.tooLarge", json.dumps({**fabric(), "hosts": [{"name": "n", "gpus": [{}] * 65}], "links": []}), 413)


def import_it(session):
    """The small fabric, accepted; the lists and things of it."""
    answer = session.call("putTopology", 200, query={"source": "by hand"}, body=fabric())
    assert answer.json["hosts"] == 5 and answer.json["gpus"] == 16 and answer.json["source"] == "by hand", answer.json
    again = session.call("putTopology", 200, query={"format": "native"}, body=fabric())
    assert again.json["version"] == answer.json["version"], "the same topology is no change"
    assert again.header("ETag") == answer.header("ETag")
    summary = session.call("getFabric", 200)
    assert {**summary.json, "seq": 0, "findings": []} == {**again.json, "seq": 0}, "nothing was wrong with the file"
    session.call("getFabric", 304, headers={"If-None-Match": summary.header("ETag")})

    topology = session.call("getTopology", 200)
    assert topology.header("ETag") == answer.header("ETag")
    assert len(topology.json["hosts"]) == 5
    back = session.call("putTopology", 200, body=topology.body, headers={"If-Match": topology.header("ETag")})
    assert back.json["digest"] == answer.json["digest"], "what is told can be sent back"
    session.call("putTopology", 412, "precondition.versionDiffers", body=fabric(), headers={"If-Match": '"topology.999"'})


def facts_of_nodes(session):
    """Racks and labels set by hand, kept over imports whose files do not say."""
    before = session.call("getTopology", 200).json
    named = session.call("patchNode", 200, path={"id": "node-1"}, body={"rack": "A09", "labels": {"gpu": "h100"}}).json
    assert named["rack"] == "A09" and named["labels"]["gpu"] == "h100", named
    session.call("patchNodes", 200, body={"nodes": [{"id": "node-*", "labels": {"hall": "2"}}, {"id": "node-2", "kind": "storage"}]})
    session.call("patchNode", 200, path={"id": "node-2"}, body={"kind": "compute"})
    kept = session.call("getNode", 200, path={"id": "node-1"}).json
    assert kept["labels"]["gpu"] == "h100" and kept["labels"]["hall"] == "2", kept
    # A dump knows no racks and labels.
    session.call("putTopology", 200, query={"merge": "true"}, body=NETLIST, headers={"Content-Type": "text/plain"})
    session.call("patchNode", 200, path={"id": "box-1"}, body={"rack": "A09", "labels": {"hall": "2"}})
    session.call("putTopology", 200, body=NETLIST, headers={"Content-Type": "text/plain"})
    box = session.call("getNode", 200, path={"id": "box-1"}).json
    assert box["rack"] == "A09" and box["labels"] == {"hall": "2"}, box
    session.call("putTopology", 200, body=before)
    session.call("patchNodes", 200, body={"nodes": [{"id": "node-*", "labels": {"hall": "2"}}]})
    for operation, path, whole in (("patchNode", {"path": {"id": "node-1"}}, lambda facts: facts),
                                   ("patchNodes", {}, lambda facts: {"nodes": [{"id": "node-1", **facts}]})):
        for body, code in (("{", "body.notJson"), ("[" * 1000 + "]" * 1000, "body.tooDeep"), ("[]", "body.wrongType"),
                           ('{"a": 1, "a": 2}', "body.duplicateField"), (whole({"racks": "a"}), "body.unknownField"),
                           (whole({"kind": "car"}), "body.invalidField"), (whole({"labels": 1}), "body.invalidField")):
            session.call(operation, 400, code, body=body, **path)
        session.call(operation, 400, "query.unknownParameter", query={"a": "1"}, body=whole({}), **path)
        session.call(operation, 415, "http.mediaType", body=b"{}", headers={"Content-Type": "text/plain"}, **path)
        session.call(operation, 415, "http.contentEncoding", body="{}", headers={"Content-Encoding": "zstd"}, **path)
    session.call("patchNodes", 400, "body.missingField", body={})
    session.call("patchNode", 404, "nodes.notFound", path={"id": "node-77"}, body={})
    session.call("patchNodes", 404, "nodes.notFound", body={"nodes": [{"id": "gpu-*"}]})
    session.call("patchNodes", 200, body={"nodes": [{"id": "*", "rack": "", "labels": {"gpu": None, "hall": None}}]})
    session.call("putTopology", 200, body=before, query={"source": "by hand"})
    assert session.call("getTopology", 200).json["hosts"] == before["hosts"]


def named_links(session):
    """Each link has a name without GUIDs, and the name is taken wherever its id is."""
    links = session.call("listLinks", 200, query={"limit": "1000"}).json["items"]
    ends = [end for link in links for end in link["ends"]]
    assert {"leaf-1/16", "spine-1/1", "node-1/mlx5_0/1", "storage-1/mlx5_0/1", "node-2/gpu3"} <= {end["portName"] for end in ends}, ends
    for link in links:
        assert session.call("getLink", 200, path={"id": link["name"]}).json["id"] == link["id"], link
        assert {end["portName"] for end in link["ends"]} == set(link["name"].split("--")), link
        own_host = all("node" in end or "switch" in end or "nvlinkDomain" in end for end in link["ends"])
        assert not own_host or guid(0)[:10] not in link["name"], link
    named = next(link["name"] for link in links if link["id"] == LINK)
    drained = session.call("drainLink", 200, path={"id": named}, query={"dryRun": "true"}, body={}).json
    assert drained["id"] == LINK and drained["name"] == named, drained


def things(session):
    for name in ("node-1", "node-4", "storage-1"):
        node = session.call("getNode", 200, path={"id": name}).json
        assert node["id"] == name
    assert [gpu["nics"] for gpu in session.call("getNode", 200, path={"id": "node-1"}).json["gpuList"]][0] == ["mlx5_0", "mlx5_1"]
    for text in ("leaf-1", guid(1), "0x" + guid(1), "lid:1"):
        switch = session.call("getSwitch", 200, path={"id": text}).json
        assert switch["id"] == "leaf-1" and switch["lid"] == 1, switch
    link = session.call("getLink", 200, path={"id": LINK}).json
    assert link["id"] == LINK and link["rateGbps"] == 400, link
    turned = "--".join(reversed(LINK.split("--")))
    assert session.call("getLink", 200, path={"id": turned}).json == link
    assert session.call("getLink", 200, path={"id": LINK.replace(guid(1), "leaf-1")}).json == link
    named_links(session)
    escaped = session.exchange("GET", "/v1/links/" + LINK.replace("/", "%2F"), {}, None)
    assert escaped.status == 200, "the / may be sent as %2F"
    nvlink = session.call("listLinks", 200, query={"kind": "nvlink", "limit": "1"}).json["items"][0]
    shown = session.call("getLink", 200, path={"id": nvlink["id"]}).json
    assert {name: shown[name] for name in nvlink} == nvlink
    domain = session.call("getNvlinkDomain", 200, path={"id": "nv-1"}).json
    assert domain["gpus"] == 4 and domain["nodes"] == ["node-1"] and domain["clusterUuid"] == "7a5b", domain
    session.call("getFindings", 200)

    for operation, code, thing in (("getNode", "nodes.notFound", "node-99"), ("getSwitch", "switches.notFound", "lid:77"),
                                   ("getSwitch", "switches.notFound", "lid:"), ("getLink", "links.notFound", "a/1--b/2"),
                                   ("getNvlinkDomain", "nvlinkDomains.notFound", "nv-99"),
                                   ("getNode", "nodes.notFound", "a/b"), ("getNode", "nodes.notFound", "\u00fc \u4e2d'\"")):
        answer = session.call(operation, 404, code, path={"id": thing})
        assert thing in answer.json["detail"], answer.json
        session.call(operation, 400, "query.unknownParameter", path={"id": thing}, query={"verbose": "1"})
    for operation in ("getFabric", "getFindings", "getTopology"):
        session.call(operation, 400, "query.unknownParameter", query={"verbose": "1"})


def lists(session):
    """Page by page is the same as at once; filters keep what they say; anything else is refused by name."""
    for operation in LISTS:
        whole = session.call(operation, 200, query={"limit": "10000"}).json
        assert whole["items"] and whole["nextCursor"] is None
        items, cursor = [], None
        while True:
            query = {"limit": "2", **({"cursor": cursor} if cursor else {})}
            page = session.call(operation, 200, query=query).json
            assert 1 <= len(page["items"]) <= 2
            items += page["items"]
            cursor = page["nextCursor"]
            if cursor is None:
                break
        assert items == whole["items"], f"{operation}: paging shows something else"
        some = session.call(operation, 200, query={"fields": "id"}).json
        assert some["items"] == [{"id": item["id"]} for item in whole["items"]]
        session.call(operation, 200, query={"fields": "id"})
        for query, code in (({"limit": "0"}, "query.invalidNumber"), ({"limit": "10001"}, "query.invalidNumber"),
                            ({"limit": "-1"}, "query.invalidNumber"), ({"limit": "2x"}, "query.invalidNumber"),
                            ({"cursor": "soon"}, "query.invalidCursor"), ({"page": "2"}, "query.unknownParameter")):
            session.call(operation, 400, code, query=query)
        session.call(operation, 409, "query.cursorExpired", query={"cursor": "v0.1"})

    def ids(operation, **query):
        return [item["id"] for item in session.call(operation, 200, query=query).json["items"]]

    assert ids("listNodes", rack="A") == ["node-1", "node-2"]
    assert ids("listNodes", kind="storage") == ["storage-1"]
    assert ids("listNodes", name="de-3") == ["node-3"]
    assert ids("listNodes", rack="Z") == []
    assert sorted(ids("listSwitches", tier="0")) == ["leaf-1", "leaf-2"]
    assert ids("listSwitches", subnet="storage") == ["spare"]
    assert len(ids("listLinks", switch="leaf-1")) == 6 and len(ids("listLinks", node="node-2")) == 2 + 4
    assert len(ids("listLinks", kind="nvlink")) == 16
    session.call("listNodes", 400, "query.invalidKind", query={"kind": "toaster"})
    session.call("listLinks", 400, "query.invalidKind", query={"kind": "string"})
    session.call("listLinks", 404, "switches.notFound", query={"switch": "leaf-99"})
    session.call("listLinks", 404, "nodes.notFound", query={"node": "node-99"})
    session.call("listSwitches", 400, "query.invalidNumber", query={"tier": "top"})


def merge(session):
    """A netlist in addition, with GPUs given to its nodes; then the small fabric alone again."""
    present = session.call("getFabric", 200).json
    cursor = session.call("listNodes", 200, query={"limit": "1"}).json["nextCursor"]
    answer = session.call("putTopology", 200, body=NETLIST + "[what is this\n", headers={"Content-Type": "text/plain"},
                          query={"merge": "true", "format": "ibsim", "subnet": "edge", "gpusPerNode": "2"})
    assert any(finding["code"] == "unreadableLine" for finding in answer.json["findings"]), answer.json
    assert answer.json["hosts"] == 7 and answer.json["gpus"] == 20, answer.json
    session.call("listNodes", 409, "query.cursorExpired", query={"cursor": cursor})
    restored = session.call("putTopology", 200, body=fabric(), query={"source": present["source"]})
    assert restored.json["digest"] == present["digest"]


def asynchronously(session):
    """Prefer: respond-async answers at once; the operation tells the rest."""
    answer = session.call("putTopology", 202, body=fabric(), headers={"Prefer": "respond-async"})
    assert answer.header("Location") == "/v1/operations/" + answer.json["operation"]
    operation = finished(session, answer.json["operation"])
    assert operation["state"] == "succeeded" and operation["result"]["hosts"] == 5, operation
    answer = session.call("putTopology", 202, body="nothing", headers={"Prefer": "respond-async", "Content-Type": "text/plain"})
    operation = finished(session, answer.json["operation"])
    assert operation["state"] == "failed" and operation["error"]["code"] == "input.format", operation

    newest = session.call("listOperations", 200, query={"limit": "1"}).json
    assert newest["items"] == [operation] and newest["nextCursor"], newest
    older = session.call("listOperations", 200, query={"cursor": newest["nextCursor"], "fields": "id,state"}).json
    assert older["items"] and older["items"][0]["id"] < operation["id"], older
    session.call("listOperations", 400, "query.invalidCursor", query={"cursor": "soon"})
    session.call("listOperations", 400, "query.invalidNumber", query={"limit": "0"})
    session.call("listOperations", 400, "query.unknownParameter", query={"state": "running"})
    session.call("getOperation", 404, "operations.notFound", path={"id": "op-999999"})
    session.call("getOperation", 400, "query.unknownParameter", path={"id": operation["id"]}, query={"wait": "1"})


def finished(session, operation):
    for _ in until_deadline():
        answer = session.call("getOperation", 200, path={"id": operation}).json
        if answer["state"] != "running":
            return answer
    raise AssertionError(f"{operation} does not end")


def the_map(session):
    """Every device and cable of the small fabric, counted from what was sent in."""
    sent = fabric()
    shown = session.call("getFabricMap", 200).json
    assert shown["detail"] == "devices" and shown["within"] is None, shown
    groups = shown["groups"]
    assert {group["name"] for group in groups} == {item["name"] for item in sent["switches"] + sent["hosts"]}
    assert all(group["members"] == 1 for group in groups)
    assert sum(group["gpus"] for group in groups) == sum(len(host.get("gpus", [])) for host in sent["hosts"])
    devices = [item["name"] for item in sent["switches"]] + [host["name"] for host in sent["hosts"] for _ in host["adapters"]]
    cables = sorted(tuple(sorted((devices[link[0]], devices[link[2]])))
                    for link in sent["links"] if link[2] < len(devices))  # the others lead to adapters of no host
    drawn = sorted(tuple(sorted((groups[bundle["from"]]["name"], groups[bundle["to"]]["name"])))
                   for bundle in shown["bundles"] for _ in range(bundle["links"]))
    assert drawn == cables and cables, (drawn, cables)
    for bundle in shown["bundles"]:
        assert (bundle["link"] is None) == (bundle["links"] > 1), bundle
        assert bundle["utilisation"] is None and bundle["errors"] is None, "no counters are read"
    session.call("getFabricMap", 200, query={"at": "2026-01-01T00:00:00Z"})
    session.call("getFabricMap", 400, "query.invalidTime", query={"at": "yesterday"})
    session.call("getFabricMap", 404, "fabric.noRegion", query={"within": "elsewhere"})
    session.call("getFabricMap", 404, "jobs.notFound", query={"job": "job-999999"})
    session.call("getFabricMap", 400, "query.unknownParameter", query={"inside": "x"})


def the_map_of_many(session):
    """More devices than are shown one by one: nodes are grouped by region, and a region can be opened."""
    leaves, nodes = 3, 150
    native = {
        "railweave": "fabric", "version": 1, "subnets": [{"name": "compute", "kind": "compute"}],
        "switches": [{"guid": guid(leaf + 1), "name": f"leaf-{leaf}", "ports": nodes + 2, "subnet": "compute"} for leaf in range(leaves)]
                    + [{"guid": guid(9), "name": "spine", "ports": 8, "subnet": "compute"}],
        "hosts": [{"name": f"n-{leaf}-{node}", "gpus": [{}] * 4, "adapters": [{"guid": guid(0x1000 + leaf * 0x100 + node), "ports": [{}]}]}
                  for leaf in range(leaves) for node in range(nodes)],
        "linkSpecs": [{"speed": "NDR", "width": 4}],
        "links": [[leaf, node + 1, leaves + 1 + leaf * nodes + node, 1, 0] for leaf in range(leaves) for node in range(nodes)]
                 + [[leaf, nodes + 1, leaves, leaf + 1, 0] for leaf in range(leaves)]}
    session.call("putTopology", 200, body=native)
    whole = session.call("getFabricMap", 200).json
    assert whole["detail"] == "racks", whole["detail"]
    regions = [group for group in whole["groups"] if group["kind"] == "nodes"]
    assert [group["members"] for group in regions] == [nodes] * leaves and sum(group["gpus"] for group in regions) == leaves * nodes * 4
    assert sum(bundle["links"] for bundle in whole["bundles"]) == len(native["links"])
    assert len(whole["groups"]) == 2 * leaves + 1 and len(whole["bundles"]) == 2 * leaves
    opened = session.call("getFabricMap", 200, query={"within": regions[1]["region"]}).json
    inside = next(group for group in opened["groups"] if group["kind"] in ("switch", "node") and group["region"] == opened["within"])
    by_device = session.call("getFabricMap", 200, query={"within": f"{inside['kind']}:{inside['name']}"}).json
    assert by_device["within"] == opened["within"] and by_device["groups"] == opened["groups"], inside
    session.call("getFabricMap", 404, "fabric.noRegion", query={"within": "node:elsewhere"})
    assert opened["detail"] == "devices" and opened["within"] == regions[1]["region"]
    assert sorted(group["name"] for group in opened["groups"] if group["kind"] == "node") == sorted(f"n-1-{node}" for node in range(nodes))
    assert sum(bundle["links"] for bundle in opened["bundles"]) == nodes + 1, "its own cables, and the one to the spine"


CASES = [before_any_import, refused_imports, the_map_of_many, import_it, facts_of_nodes, things, the_map, lists, merge, asynchronously]
