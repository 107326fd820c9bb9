#!/usr/bin/env python3
"""Asks whether a job fits, places it, and prints a hostfile's worth of its ranks; a job that does not fit waits.

place_job.py TENANT NAME TP DP
"""
import sys
import uuid

from railweave import Problem, Railweave


def main():
    tenant, name, tensor, data = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    with Railweave() as railweave:
        job = {"tenant": tenant, "name": name, "parallelism": {"tensor": tensor, "data": data}}
        try:
            placed = railweave.submit_job(body=job, idempotency_key=str(uuid.uuid4()))
        except Problem as problem:
            if problem.status != 409:  # 422: it never can
                print(f"{problem.detail}; {problem.hint}")
                return 1
            print(f"not now: {problem.detail}")
            placed = railweave.submit_job(body=job | {"queue": True}, idempotency_key=str(uuid.uuid4()))
        print(f"{placed['id']}: {placed['state']}")
        if placed["state"] == "placed":
            for rank in railweave.items("list_ranks", placed["id"]):
                print(rank["rank"], rank["node"], rank["gpu"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
