"""Jobs: what-ifs, submission, what is refused and why, ranks, ends."""
from small_fabric import UPLINK, fabric

TENANT = "research"


def job(**fields):
    return {"name": "test", "tenant": TENANT, "parallelism": {"tensor": 4}, **fields}


def what_ifs(session):
    def ask(outcome, body, code=None, **query):
        answer = session.call("queryPlacement", 200, body=body, query=query).json
        assert answer["outcome"] == outcome and answer.get("code") == code, answer
        return answer

    answer = ask("placed", {"parallelism": {"tensor": 4, "data": 4}})
    assert answer["ranks"] == {"count": 16} and answer["warnings"] == [], answer
    answer = ask("placed", {"parallelism": {"tensor": 4, "data": 4}}, ranks="true")
    assert [rank["rank"] for rank in answer["ranks"]["items"]] == list(range(16))
    assert {rank["node"] for rank in answer["ranks"]["items"]} == {f"node-{n}" for n in range(1, 5)}
    assert any(rank.get("nicsAssumed") for rank in answer["ranks"]["items"]), "node-4 tells no affinity"
    ask("placed", {"gpus": 3}, ranks="false")
    ask("placed", {"gpus": 3, "parallelism": {"data": 3}}, ranks="false")
    ask("placed", everything())
    predictions(ask)
    answer = ask("placed", {"gpus": 1, "excludeNodes": ["node-77"]})
    assert "node-77" in answer["warnings"][0], answer
    answer = ask("never", {"parallelism": {"tensor": 8}}, "jobs.neverFits")
    assert answer["explanation"]["fits"] == 0, answer
    answer = ask("never", {"gpus": 1048576}, "jobs.neverFits")
    answer = ask("never", {"gpus": 4, "nodeSelector": {"gpu": "b200"}}, "jobs.unknownLabel")
    assert "no node carries the label gpu=b200; there is gpu=h100" in answer["reason"], answer
    assert answer["explanation"]["excluded"][0]["reason"] == "labelsDiffer", answer
    answer = ask("never", {"gpus": 16, "topology": {"job": {"required": "rack"}}}, "jobs.neverFits")
    assert answer["explanation"]["counterfactuals"], answer
    taints(session, ask)
    for query, code in (({"ranks": "yes"}, "query.invalidFlag"), ({"ranks": ""}, "query.invalidFlag"), ({"rank": "true"}, "query.unknownParameter")):
        session.call("queryPlacement", 400, code, query=query, body={"gpus": 1})


def taints(session, ask):
    """Of all nodes: what keeps the job off is named, with what would help."""
    session.call("patchNodes", 200, body={"nodes": [{"id": "node-*", "labels": {"taint/dedicated": "others"}}]})
    answer = ask("never", {"gpus": 4}, "jobs.neverFits")
    [excluded] = [one for one in answer["explanation"]["excluded"] if one["reason"] == "tainted"]
    assert excluded["taint"] == "dedicated=others" and excluded["nodes"] == 4, excluded
    assert "dedicated=others" in answer["reason"], answer
    assert "tolerating the taint dedicated=others" in [one["change"] for one in answer["explanation"]["counterfactuals"]], answer
    ask("never", {"gpus": 4, "tolerations": [{"key": "dedicated", "value": "us"}]}, "jobs.neverFits")
    ask("placed", {"gpus": 4, "tolerations": [{"key": "dedicated"}]})
    session.call("patchNodes", 200, body={"nodes": [{"id": "node-*", "labels": {"taint/dedicated": None}}]})


def predictions(ask):
    """With a model a step is predicted, with traffic its communication, and else that of a model assumed."""
    answer = ask("placed", {"parallelism": {"tensor": 4, "data": 4}, "model": MODEL})
    predicted = answer["predicted"]
    assert predicted["stepMs"] > predicted["exposedMs"] > 0 and not predicted["assumed"], predicted
    assert predicted["generation"] == "H100" and set(predicted["byGroup"]) == {"tensor", "data"}, predicted
    assert abs(sum(predicted["byGroup"].values()) - predicted["communicationMs"]) < 1e-3, predicted
    groups = answer["groups"]
    assert groups["tensor"] == {"count": 4, "ranks": 4, "worst": "nvlinkDomain", "domains": 1}, groups
    assert groups["data"]["domains"] == 4 and "sameRail" in groups["data"], groups
    twice = dict(MODEL, parameters=2 * MODEL["parameters"])
    slower = ask("placed", {"parallelism": {"tensor": 4, "data": 4}, "model": twice})["predicted"]
    assert slower["byGroup"]["data"] > predicted["byGroup"]["data"] and slower["stepMs"] > predicted["stepMs"], slower
    predicted = ask("placed", {"gpus": 8, "traffic": {"data": {"bytesPerStep": 1e9}}})["predicted"]
    assert predicted["stepMs"] is None and predicted["communicationMs"] > 0 and not predicted["assumed"], predicted
    predicted = ask("placed", {"parallelism": {"tensor": 4, "data": 2}})["predicted"]
    assert predicted["stepMs"] is None and predicted["communicationMs"] > 0 and predicted["assumed"], predicted
    near = {"parallelism": {"tensor": 4, "data": 2}, "topology": {"job": {"required": "rack"}}}
    assert any("for job" in one["change"] for one in ask("placed", near)["alternatives"]), "a wider level is priced"

    answer = ask("placed", {"parallelism": {"tensor": 4, "pipeline": 2}, "topology": {"pipeline": {"spread": "rack"}}},
                 ranks="true")
    assert {rank["node"] in ("node-1", "node-2") for rank in answer["ranks"]["items"]} == {True, False}, answer
    ask("never", {"parallelism": {"tensor": 4, "pipeline": 3}, "topology": {"pipeline": {"spread": "rack"}}}, "jobs.neverFits")
    answer = ask("placed", {"gpus": 8, "topology": {"slices": [{"level": "node", "size": 4}]}})
    assert answer["placement"]["nodesUsed"] == 2, answer
    held_beside_ranks(ask)
    answer = ask("placed", {"gpus": 2, "nodes": ["node-3"]}, ranks="true")
    assert {rank["node"] for rank in answer["ranks"]["items"]} == {"node-3"}, answer
    answer = ask("never", {"gpus": 8, "nodes": ["node-3"]}, "jobs.neverFits")
    assert answer["explanation"]["excluded"][0] == {"reason": "notNamedByJob", "nodes": 3,
                                                    "examples": ["node-1", "node-2", "node-4"]}, answer


def held_beside_ranks(ask):
    """Spares, groups of its own, and a job spread over groups."""
    answer = ask("placed", {"gpus": 2, "sparesPerDomain": 1})
    assert answer["placement"]["idle"]["gpus"] == 1, answer
    answer = ask("never", {"parallelism": {"tensor": 4}, "sparesPerDomain": 1}, "jobs.neverFits")
    changes = [one["change"] for one in answer["explanation"]["counterfactuals"]]
    assert "sparesPerDomain 1 -> 0" in changes, answer
    answer = ask("placed", {"gpus": 1, "topology": {"exclusive": "rack"}})
    assert answer["placement"]["idle"]["gpus"] == 7 and len(answer["placement"]["idle"]["nodes"]) == 2, answer
    answer = ask("placed", {"gpus": 6, "topology": {"spread": {"level": "rack", "maxGpusPerGroup": 3}}}, ranks="true")
    racks = [rank["node"] in ("node-1", "node-2") for rank in answer["ranks"]["items"]]
    assert racks.count(True) == racks.count(False) == 3, answer
    ask("never", {"gpus": 7, "topology": {"spread": {"level": "rack", "maxGpusPerGroup": 3}}}, "jobs.neverFits")
    ask("placed", {"gpus": 1, "topology": {"spread": None, "exclusive": None}})


def groups_of_their_own(session):
    """A job with an exclusive group shares it with no other job, and frees all of it at its end."""
    alone = job(gpus=1, parallelism={"data": 1}, sparesPerDomain=1,
                topology={"exclusive": "rack", "spread": {"level": "node", "maxGpusPerGroup": 4}})
    first = session.call("submitJob", 201, body=alone).json
    assert first["placement"]["idle"]["gpus"] == 7 and first["spec"]["topology"]["exclusive"] == "rack", first
    assert first["spec"]["sparesPerDomain"] == 1 and first["spec"]["topology"]["spread"]["maxGpusPerGroup"] == 4, first
    second = session.call("submitJob", 201, body=job(parallelism={"data": 1})).json
    answer = session.call("queryPlacement", 200, body=alone).json
    assert answer["outcome"] == "notNow", answer
    assert {"reason": "groupInUse", "nodes": 4, "examples": ["node-1", "node-2", "node-3", "node-4"]} in \
        answer["explanation"]["excluded"], answer
    assert "without exclusive rack" in [one["change"] for one in answer["explanation"]["counterfactuals"]], answer
    for name in (first["id"], second["id"]):
        session.call("cancelJob", 200, path={"id": name})
    assert session.call("queryPlacement", 200, body=job(gpus=16, parallelism={"data": 16})).json["outcome"] == "placed"


MODEL = {"parameters": 7e9, "layers": 32, "hiddenSize": 4096, "sequenceLength": 4096, "globalBatchSize": 64}


def rank_formats(session):
    """What launchers read."""
    name = session.call("submitJob", 201, body=job(parallelism={"tensor": 4, "data": 2}, model=MODEL)).json
    assert name["predicted"]["stepMs"] > 0 and name["spec"]["model"]["parameters"] == 7e9, name
    name, nodes = name["id"], name["nodeList"]

    def text(form):
        return session.call("listRanks", 200, path={"id": name}, query={"format": form})

    assert text("hostfile").body.decode() == "".join(f"{node} slots=4\n" for node in nodes)
    assert text("slurm").body.decode().split() == [node for node in nodes for _ in range(4)]
    assert "rank 7=" in text("mpi").body.decode() and "--node_rank=1" in text("torchrun").body.decode()
    nccl = text("nccl")
    lists = {line.split()[3] for line in nccl.body.decode().splitlines()}
    assert lists == {"NCCL_IB_HCA==mlx5_0:1,mlx5_1:1"}, "one list for all ranks of a node"
    assert "CUDA_VISIBLE_DEVICES=0,1,2,3" in text("script").body.decode()
    session.call("listRanks", 304, path={"id": name}, query={"format": "nccl"}, headers={"If-None-Match": nccl.header("ETag")})
    assert session.call("listRanks", 200, path={"id": name}, query={"format": "json", "limit": "1"}).json["items"]
    session.call("cancelJob", 200, path={"id": name})
    others_of_node(session)
    moved_rank(session)

    named = fabric()
    named["hosts"][0]["name"] = "node 1"
    session.call("putTopology", 200, body=named)
    odd = session.call("submitJob", 201, body=job(nodes=["node 1"])).json["id"]
    session.call("listRanks", 409, "ranks.nodeName", path={"id": odd}, query={"format": "slurm"})
    session.call("cancelJob", 200, path={"id": odd})
    session.call("putTopology", 200, body=fabric(), query={"source": "by hand"})


def moved_rank(session):
    """A repair moves rank 1 to another node: launchers that number ranks node by node cannot start the job."""
    made = session.call("submitJob", 201, body=job(gpus=4, parallelism={"data": 4})).json
    assert len(made["nodeList"]) == 1, made
    rank = session.call("listRanks", 200, path={"id": made["id"]}).json["items"][1]
    session.call("repairJob", 200, path={"id": made["id"]}, body={"gpus": [{"node": rank["node"], "gpu": rank["gpu"]}]})
    for form in ("hostfile", "torchrun"):
        session.call("listRanks", 409, "ranks.notByNode", path={"id": made["id"]}, query={"format": form})
    session.call("cancelJob", 200, path={"id": made["id"]})
    session.call("undrainNode", 204, path={"id": rank["node"]}, body={"gpu": rank["gpu"]})


def others_of_node(session):
    """A job beside another one on its node: its local ranks have GPUs of other numbers, which needs the script. Which
    adapter is near which GPU is only assumed there, and every format says so."""
    first = session.call("submitJob", 201, body=job(gpus=1, parallelism={"data": 1}, nodes=["node-4"])).json["id"]
    second = session.call("submitJob", 201, body=job(gpus=2, parallelism={"data": 2}, nodes=["node-4"])).json["id"]
    for form in ("hostfile", "slurm", "mpi"):
        session.call("listRanks", 409, "ranks.gpuNotLocalRank", path={"id": second}, query={"format": form})
    session.call("listRanks", 400, "query.invalidFlag", path={"id": second}, query={"format": "mpi", "withScript": "yes"})
    session.call("listRanks", 400, "query.invalidFlag", path={"id": second}, query={"withScript": "null"})
    for form in ("hostfile", "slurm", "mpi", "torchrun", "nccl", "script"):
        answer = session.call("listRanks", 200, path={"id": second}, query={"format": form, "withScript": "true"}).body.decode()
        assert "# 1 node (node-4): which adapter is near which GPU is not known, so it is assumed\n" in answer, answer
        if form in ("nccl", "script"):
            assert "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1" in answer, answer
    for name in (first, second):
        session.call("cancelJob", 200, path={"id": name})

    named = fabric()
    for adapter in named["hosts"][2]["adapters"]:
        adapter["device"] = adapter["device"].replace("mlx5_", "HCA-")
    session.call("putTopology", 200, body=named)
    odd = session.call("submitJob", 201, body=job(nodes=["node-3"])).json["id"]
    answer = session.call("listRanks", 200, path={"id": odd}, query={"format": "nccl"}).body.decode()
    assert "NCCL_IB_HCA=" not in answer and "# 1 node (node-3): NCCL_IB_HCA is left out" in answer, answer
    session.call("cancelJob", 200, path={"id": odd})


def everything():
    """Every field there is."""
    return job(priority="low", parallelism={"tensor": 2, "pipeline": 2, "data": 2, "context": 1, "expert": 1}, gpus=8,
               gpusPerNode=4, excludeNodes=["node-4"], nodeSelector={"gpu": "h100"}, expectedDuration="P1DT12H",
               preferNodes=[{"nodeSelector": {"gpu": "h100"}, "weight": 20}, {"nodes": ["node-2"], "weight": 5, "avoid": True}],
               tolerations=[{"key": "dedicated", "value": "research"}, {"key": "nvlink", "value": None}, {"key": "fans"}],
               external={"scheduler": "slurm", "id": "48213_7", "part": "debug"}, model=MODEL, nodes=["node-1", "node-2", "node-3"],
               traffic={"data": {"bytesPerStep": 1e9, "callsPerStep": 4}},
               topology={"tensor": {"required": "nvlinkDomain"}, "context": {}, "expert": {"preferred": None},
                         "pipeline": {"required": "cluster", "preferred": "node", "spread": "node"},
                         "slices": [{"level": "node", "size": 4}], "job": {"preferred": "rack"},
                         "spread": {"level": "node", "maxGpusPerGroup": 4}, "exclusive": "node"}, sparesPerDomain=0,
               cpuRoles=[{"name": "driver"}, {"name": "loader", "members": 2, "maxPerNode": 1}])


def bad_bodies(session):
    """The same body for both; each breach is answered by its name and place, and changes nothing."""
    def refuse(code, body, pointer=None, words=""):
        for operation in ("queryPlacement", "submitJob"):
            problem = session.call(operation, 400, code, body=body).json
            assert pointer is None or problem["errors"][0]["pointer"] == pointer, problem
            assert words in problem["detail"], problem

    refuse("body.notJson", "", words="not JSON")
    refuse("body.notJson", '{"gpus": 1', words="line 1, column")
    refuse("body.notJson", '{"gpus": 1}}')
    refuse("body.notJson", '{"gpus": NaN}')
    refuse("body.notJson", '{"gpus": 1e999}')
    refuse("body.notJson", b'{"name": "\xff\xfe"}')
    refuse("body.notJson", bytes(range(256)))
    refuse("body.notJson", "[" * 100_000)
    refuse("body.tooDeep", "[" * 100_000 + "]" * 100_000)
    refuse("body.tooDeep", '{"a":' * 20 + "1" + "}" * 20)
    refuse("body.duplicateField", '{"gpus": 1, "gpus": 2}', words="'gpus'")
    refuse("body.wrongType", "[]")
    refuse("body.wrongType", "null")
    refuse("body.wrongType", '"gpus"')
    refuse("body.wrongType", {"parallelism": 8}, "/parallelism")
    refuse("body.wrongType", {"gpus": 1, "topology": {"tensor": "node"}}, "/topology/tensor")
    refuse("body.missingField", {})
    refuse("body.missingField", {"gpus": None})
    refuse("body.unknownField", {"gpus": 1, "gpu": 1}, "/gpu", "'gpu'")
    refuse("body.unknownField", {"parallelism": {"tensors": 1}}, "/parallelism/tensors", "'tensors'")
    refuse("body.unknownField", {"gpus": 1, "a/b~c": 1}, "/a~1b~0c")
    refuse("body.unknownField", {"gpus": 1, "x" * 500_000: 1}, words="xxx...'")
    refuse("body.invalidField", {"gpus": "eight"}, "/gpus")
    refuse("body.invalidField", {"gpus": 1.5}, "/gpus")
    refuse("body.invalidField", {"gpus": -1}, "/gpus")
    refuse("body.invalidField", {"gpus": 0}, "/gpus")
    refuse("body.invalidField", {"gpus": 10**12}, "/gpus", "1000000000000")
    refuse("body.invalidField", {"gpus": 10**30}, "/gpus")
    refuse("body.invalidField", {"parallelism": {"tensor": 10**12}}, "/parallelism/tensor")
    refuse("body.invalidField", {"gpus": 7, "parallelism": {"tensor": 2}}, "/gpus")
    refuse("body.invalidField", {"gpus": 1, "name": None}, "/name")
    refuse("body.invalidField", {"gpus": 1, "name": ["a"] * 200_000}, "/name")
    refuse("body.invalidField", {"gpus": 1, "expectedDuration": "two days"}, "/expectedDuration")
    refuse("body.invalidField", {"gpus": 1, "topology": {"job": {"required": "planet"}}}, "/topology/job/required")
    refuse("body.invalidField", {"gpus": 1, "excludeNodes": "node-1"}, "/excludeNodes")
    refuse("body.invalidField", {"gpus": 1, "excludeNodes": [1]}, "/excludeNodes")
    refuse("body.invalidField", {"gpus": 1, "nodeSelector": {"gpu": 1}}, "/nodeSelector")
    refuse("jobs.invalid", {"parallelism": {"tensor": 0}}, "/parallelism/tensor")
    refuse("jobs.invalid", {"parallelism": {"tensor": 65536, "data": 65536}}, "/parallelism/data")
    refuse("jobs.invalid", {"parallelism": {name: 4294967295 for name in ("tensor", "pipeline", "data", "context", "expert")}})
    refuse("jobs.invalid", {"gpus": 1, "name": "evil\u0007name"}, "/name")
    refuse("jobs.invalid", {"gpus": 1, "name": "nul\u0000"}, "/name")
    refuse("jobs.invalid", {"gpus": 1, "name": "n" * 254}, "/name")
    refuse("jobs.invalid", {"gpus": 1, "excludeNodes": ["node-1\n"]}, "/excludeNodes/0")
    refuse("jobs.invalid", {"gpus": 1, "tolerations": [{"key": ""}]}, "/tolerations/0/key")
    refuse("jobs.invalid", {"gpus": 1, "tolerations": [{"key": "taint/fans"}]}, "/tolerations/0/key")
    refuse("body.missingField", {"gpus": 1, "tolerations": [{"value": "broken"}]}, "/tolerations/0/key")
    refuse("jobs.invalid", {"gpus": 8, "gpusPerNode": 3}, "/gpusPerNode")
    refuse("jobs.invalid", {"gpus": 1, "sparesPerDomain": 1025}, "/sparesPerDomain")
    for bad in (0, 1, 1048577):
        refuse("jobs.invalid", {"parallelism": {"tensor": 2}, "topology": {"spread": {"level": "node", "maxGpusPerGroup": bad}}},
               "/topology/spread/maxGpusPerGroup")
    refuse("body.missingField", {"gpus": 1, "topology": {"spread": {"level": "node"}}}, "/topology/spread/maxGpusPerGroup")
    refuse("body.invalidField", {"gpus": 1, "topology": {"exclusive": "row"}}, "/topology/exclusive")
    refuse("jobs.invalid", {"gpus": 1, "expectedDuration": "P9999W"}, "/expectedDuration")
    refuse("jobs.invalid", {"gpus": 4, "topology": {"job": {"required": "node", "preferred": "rack"}}}, "/topology/job/preferred")

    for operation in ("queryPlacement", "submitJob"):
        session.call(operation, 415, "http.mediaType", body="gpus: 1", headers={"Content-Type": "application/yaml"})
        session.call(operation, 415, "http.mediaType", body="{}", headers={"Content-Type": "text/plain"})
        session.call(operation, 415, "http.contentEncoding", body="{}", headers={"Content-Encoding": "br"})
        session.call(operation, 413, "http.bodyTooLarge", body=b"[" + b" " * (1 << 20) + b"]")
    session.call("submitJob", 400, "query.unknownParameter", query={"dryRun": "true"}, body=job())
    session.call("submitJob", 400, "tenants.unknown", body=job(tenant="unknown"))
    session.call("queryPlacement", 400, "tenants.unknown", body=job(tenant="unknown"))
    for operation in ("submitJob", "queryPlacement"):
        problem = session.call(operation, 400, "jobs.unknownPriority", body=job(priority="urgent")).json
        assert "low, normal, high" in problem["hint"] + problem["detail"], problem
    session.call("submitJob", 422, "jobs.unknownLabel", body=job(nodeSelector={"gpu": "b200"}))
    session.call("submitJob", 400, "tenants.unknown", body={"gpus": 1})
    session.call("submitJob", 400, "idempotency.badKey", body=job(), headers={"Idempotency-Key": "k" * 201})
    session.call("submitJob", 400, "idempotency.badKey", body=job(), headers={"Idempotency-Key": b"caf\xe9".decode("latin-1")})
    assert session.call("listJobs", 200).json["items"] == [], "none of these made a job"


def submission(session):
    """Placed, looked at from every side, repeated, and ended."""
    key = {"Idempotency-Key": "4f3a 1/~"}
    answer = session.call("submitJob", 201, body=everything(), headers=key)
    name = answer.json["id"]
    assert answer.header("Location") == f"/v1/jobs/{name}" and answer.json["job"] == name
    assert answer.json["gpus"] == 8 and answer.json["ranks"] == {"count": 8, "href": f"/v1/jobs/{name}/ranks"}
    spec = answer.json["spec"]
    assert spec["expectedDuration"] == "PT36H" and spec["external"] == {"scheduler": "slurm", "id": "48213_7", "part": "debug"}, spec
    assert spec["topology"]["pipeline"] == {"required": "cluster", "preferred": "node", "spread": "node"}, spec

    again = session.call("submitJob", 200, body=everything(), headers=key)
    assert again.json == answer.json and again.header("ETag") == answer.header("ETag")
    session.call("submitJob", 422, "idempotency.keyReused", body=job(name="another"), headers=key)

    shown = session.call("getJob", 200, path={"id": name})
    assert shown.json == answer.json
    sent = session.call("getJobTraffic", 200, path={"id": name}).json
    assert len(sent["ends"]) == shown.json["gpus"] or sent["by"] == "node", sent
    session.call("getJobTraffic", 400, "query.unknownParameter", path={"id": name}, query={"all": ""})
    drawn = session.call("getFabricMap", 200, query={"job": name}).json["groups"]
    assert sum(group.get("jobGpus", 0) for group in drawn) == (shown.json["gpus"] if shown.json["state"] == "placed" else 0), drawn
    session.call("getJob", 304, path={"id": name}, headers={"If-None-Match": f'"x", {shown.header("ETag")}'})
    session.call("getJob", 400, "query.unknownParameter", path={"id": name}, query={"wide": "1"})
    line = session.call("listJobs", 200, query={"state": "placed", "tenant": TENANT, "name": "test"}).json["items"]
    assert line == [{field: answer.json[field] for field in line[0]}], line

    ranks = session.call("listRanks", 200, path={"id": name})
    session.call("listRanks", 304, path={"id": name}, headers={"If-None-Match": ranks.header("ETag")})
    assert [rank["tp"] for rank in ranks.json["items"]] == [0, 1] * 4
    items, cursor = [], None
    while True:
        page = session.call("listRanks", 200, path={"id": name},
                            query={"limit": "3", **({"cursor": cursor} if cursor else {})}).json
        items += page["items"]
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert items == ranks.json["items"]
    for query, code in (({"limit": "0"}, "query.invalidNumber"), ({"cursor": "x"}, "query.invalidNumber"),
                        ({"limit": "100001"}, "query.invalidNumber"), ({"format": "excel"}, "ranks.unknownFormat"),
                        ({"format": "slurm", "limit": "3"}, "ranks.wholeOnly")):
        session.call("listRanks", 400, code, path={"id": name}, query=query)
    assert session.call("listRanks", 200, path={"id": name}, query={"cursor": "1048576"}).json["items"] == []

    used = session.call("getNode", 200, path={"id": answer.json["nodeList"][0]}).json
    assert used["freeGpus"] == 0 and not used["gpuList"][0]["free"], used
    assert session.call("getFabric", 200).json["freeGpus"] == 8

    for operation in ("cancelJob", "completeJob"):
        session.call(operation, 412, "precondition.versionDiffers", path={"id": name}, headers={"If-Match": '"job-000001.999"'})
        session.call(operation, 412, "precondition.versionDiffers", path={"id": name},
                     headers={"If-Match": "W/" + shown.header("ETag")})
        session.call(operation, 400, "query.tooLong", path={"id": name}, query={"reason": "r" * 501})
        session.call(operation, 400, "query.unknownParameter", path={"id": name}, query={"why": "r"})
    ended = session.call("completeJob", 200, path={"id": name}, query={"reason": "converged"},
                         headers={"If-Match": shown.header("ETag")})
    assert ended.json["state"] == "completed" and ended.json["history"][-1]["reason"] == "converged", ended.json
    assert ended.header("ETag") != shown.header("ETag")
    session.call("completeJob", 200, path={"id": name}, headers={"If-Match": "*"})
    assert session.call("cancelJob", 200, path={"id": name}).json["state"] == "completed", "ended is ended"
    assert session.call("submitJob", 200, body=everything(), headers=key).json["state"] == "completed"
    assert session.call("getFabric", 200).json["freeGpus"] == 16

    other = session.call("submitJob", 201, body=job()).json["id"]
    assert session.call("cancelJob", 200, path={"id": other}, query={"reason": "diverged"}).json["state"] == "cancelled"

    for name in ("job-999999", "job-0", "job-", "7", "job-99999999999999999999999"):
        for operation in ("getJob", "listRanks", "cancelJob", "completeJob"):
            session.call(operation, 404, "jobs.notFound", path={"id": name})


def job_lists(session):
    made = [session.call("submitJob", 201, body=job(name=f"n{i}", gpus=1, parallelism={})).json["id"] for i in range(5)]
    items, cursor = [], None
    while True:
        query = {"limit": "2", "state": "placed", **({"cursor": cursor} if cursor else {})}
        page = session.call("listJobs", 200, query=query).json
        items += page["items"]
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert [item["id"] for item in items] == made
    assert session.call("listJobs", 200, query={"fields": "id,state", "name": "n3"}).json["items"] == [
        {"id": made[3], "state": "placed"}]
    for query, code in (({"state": "running"}, "query.invalidState"), ({"cursor": "job"}, "query.invalidCursor"),
                        ({"limit": "none"}, "query.invalidNumber"), ({"user": "me"}, "query.unknownParameter")):
        session.call("listJobs", 400, code, query=query)
    for name in made:
        session.call("cancelJob", 200, path={"id": name})


def refused_placements(session):
    """Not now and never, with the explanation; a refused request may be repeated with its key."""
    holder = session.call("submitJob", 201, body=job(parallelism={"tensor": 4, "data": 3})).json["id"]
    key = {"Idempotency-Key": "later"}
    wanted = job(parallelism={"tensor": 4, "data": 2})
    problem = session.call("submitJob", 409, "jobs.noCapacityAtLevel", body=wanted, headers=key).json
    assert problem["outcome"] == "notNow" and problem["explanation"]["freeGpus"] == 4, problem
    what_if = session.call("queryPlacement", 200, body=wanted).json
    assert what_if["outcome"] == "notNow" and what_if["explanation"] == problem["explanation"], what_if
    session.call("cancelJob", 200, path={"id": holder})
    again = session.call("submitJob", 201, body=wanted, headers=key).json["id"]
    session.call("cancelJob", 200, path={"id": again})

    problem = session.call("submitJob", 422, "jobs.neverFits", body=job(parallelism={"tensor": 16})).json
    assert problem["outcome"] == "never", problem

    session.call("putTenant", 200, path={"name": "small"}, body={"maxGpus": 8})
    session.call("submitJob", 422, "tenants.gpuLimit", body=job(tenant="small", parallelism={"data": 9}))
    first = session.call("submitJob", 201, body=job(tenant="small", parallelism={"data": 8})).json["id"]
    session.call("submitJob", 409, "tenants.gpuLimit", body=job(tenant="small", parallelism={"data": 1}))
    session.call("removeTenant", 409, "tenants.holdsGpus", path={"name": "small"})
    session.call("cancelJob", 200, path={"id": first})
    session.call("removeTenant", 204, path={"name": "small"})


def unknown_level(session):
    """A level that the fabric does not have: racks, where none are told."""
    without = fabric()
    for thing in [without] + without["switches"] + without["hosts"]:
        thing.pop("racks", None)
        thing.pop("rack", None)
    session.call("putTopology", 200, body=without)
    wanted = job(topology={"job": {"required": "rack"}})
    assert session.call("queryPlacement", 200, body=wanted).json["code"] == "jobs.unknownLevel"
    session.call("submitJob", 422, "jobs.unknownLevel", body=wanted)
    session.call("putTopology", 200, body=fabric(), query={"source": "by hand"})


def lost_jobs(session):
    """A topology without a running job's nodes is refused, or ends the job as lost."""
    name = session.call("submitJob", 201, body=job(parallelism={"tensor": 4, "data": 4})).json["id"]
    problem = session.call("putTopology", 409, "topology.losesJobs", body=fabric(3)).json
    assert name in problem["detail"], problem
    assert session.call("getJob", 200, path={"id": name}).json["state"] == "placed"
    answer = session.call("putTopology", 200, body=fabric(3), query={"force": "true"}).json
    assert answer["gpus"] == answer["freeGpus"] == 12, answer
    lost = session.call("getJob", 200, path={"id": name}).json
    assert lost["state"] == "lost" and lost["nodeList"][-1] == "node-4", lost
    assert session.call("listRanks", 200, path={"id": name}).json["items"] == []
    session.call("listRanks", 400, "query.unknownParameter", path={"id": name}, query={"user": "me"})
    session.call("listRanks", 409, "ranks.ended", path={"id": name}, query={"format": "mpi"})
    session.call("putTopology", 200, body=fabric(), query={"source": "by hand"})


def routes_of_running_jobs(session):
    """Blocks with changes for a running job's nodes are urgent; without jobs none are."""
    cut = {"failLinks": [UPLINK]}
    assert session.call("diffRoutes", 200, body=cut).json["urgentWrites"] == 0
    placed = session.call("submitJob", 201, body=job(name="traffic")).json["id"]
    assert session.call("diffRoutes", 200, body=cut).json["urgentWrites"] > 0
    session.call("cancelJob", 200, path={"id": placed})


def contention(session):
    """Two jobs on the adapters of the same nodes slow each other, and each is told so."""
    def ring(name):
        return job(name=name, gpus=2, parallelism={"data": 2}, gpusPerNode=1, nodes=["node-1", "node-2"],
                   traffic={"data": {"bytesPerStep": 1e9}})

    first = session.call("submitJob", 201, body=ring("first"))
    alone = first.json["withContention"]
    assert alone["basis"] == "routes" and alone["slowdown"] == 1 and alone["mostContended"] is None, alone
    assert alone["communicationMs"] == alone["alone"]["communicationMs"] and alone["slows"] == [], alone
    asked = session.call("queryPlacement", 200, body=ring("second")).json["withContention"]
    second = session.call("submitJob", 201, body=ring("second")).json
    shared, name = second["withContention"], first.json["id"]
    assert shared["slowdown"] > 1.5 and shared["stepSlowdown"] is None, shared
    assert {key: asked[key] for key in ("byGroup", "slowdown")} == {key: shared[key] for key in ("byGroup", "slowdown")}, asked
    link = shared["mostContended"]
    assert link["jobs"][0]["job"] == name and link["jobsCrossing"] == 1 and "mlx5_" in link["link"], link
    assert link["capacityGbps"] == 400 and link["othersGbps"] > 0 and link["group"] == "data", link
    assert [one["job"] for one in shared["slows"]] == [name] and shared["slows"][0]["slowdown"] > 1.5, shared
    assert shared["slows"][0]["communicationMs"] > shared["slows"][0]["withoutThisMs"], shared

    # What others do changes the tag, not the version: who reads again sees it, who writes need not.
    shown = session.call("getJob", 200, path={"id": name}, headers={"If-None-Match": first.header("ETag")})
    assert shown.json["version"] == first.json["version"] and shown.json["withContention"]["slowdown"] > 1.5, shown.json
    session.call("getJob", 304, path={"id": name}, headers={"If-None-Match": shown.header("ETag")})
    done = session.call("completeJob", 200, path={"id": name}, headers={"If-Match": first.header("ETag")}).json
    assert done["withContention"] is None, done
    left = session.call("getJob", 200, path={"id": second["id"]}).json["withContention"]
    assert left["slowdown"] == 1 and left["slows"] == [], left
    session.call("cancelJob", 200, path={"id": second["id"]})


def gradient_exchanges(session):
    """How gradients are exchanged changes the prediction, and is read back as it was written."""
    def data_ms(**model):
        body = job(parallelism={"tensor": 4, "data": 4}, model=dict(MODEL, **model))
        return session.call("queryPlacement", 200, body=body).json["predicted"]["byGroup"]["data"]

    usual = data_ms(gradientExchange="rings")
    assert data_ms(gradientExchange="inNetwork") < usual < data_ms(gradientExchange="parameterServers")
    assert data_ms(gradientExchange="parameterServers", parameterServers=2) < data_ms(gradientExchange="parameterServers")
    assert data_ms(synchroniseEvery=10) < usual / 5 and data_ms(gradientCompression=10) < usual / 5
    traffic = {"data": {"bytesPerStep": 1e9, "callsPerStep": 1, "exchange": "parameterServers", "servers": 2}}
    made = session.call("submitJob", 201, body=job(gpus=8, parallelism={"data": 8}, traffic=traffic)).json
    assert made["spec"]["traffic"] == traffic, made["spec"]
    session.call("cancelJob", 200, path={"id": made["id"]})
    for wrong in ({"pipeline": {"bytesPerStep": 1, "exchange": "inNetwork"}}, {"data": {"bytesPerStep": 1, "servers": 2}}):
        session.call("submitJob", 400, "jobs.invalid", body=job(traffic=wrong))


CASES = [what_ifs, bad_bodies, contention, gradient_exchanges, rank_formats, groups_of_their_own, routes_of_running_jobs, submission, job_lists, refused_placements, unknown_level, lost_jobs]
