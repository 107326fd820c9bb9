"""How long training steps take, reported from inside a training loop."""
import datetime
import os
import threading
import time

from railweave.client import Problem, Railweave

RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
# Answers after which no later report can do better: the caller may not report, or this service knows no steps.
FINAL = (401, 403, 405)


def own_job():
    """What the job that this process is part of is called: its id, or SCHEDULER/ID of another scheduler; "": not known."""
    if os.environ.get("RAILWEAVE_JOB"):
        return os.environ["RAILWEAVE_JOB"]
    if os.environ.get("SLURM_ARRAY_JOB_ID"):
        return f"slurm/{os.environ['SLURM_ARRAY_JOB_ID']}_{os.environ.get('SLURM_ARRAY_TASK_ID', '')}"
    return f"slurm/{os.environ['SLURM_JOB_ID']}" if os.environ.get("SLURM_JOB_ID") else ""


class StepReporter:
    """Counts steps, and reports them from a thread of its own. Nothing here raises, waits for the network or logs: a loop that
    calls step() runs as it would without. Ranks other than 0 do nothing.

        with StepReporter(workload="llama-70b") as steps:
            for batch in batches:
                train(batch)
                steps.step()

    job: its id, its name, or SCHEDULER/ID; by default what RAILWEAVE_JOB or Slurm's variables say.
    workload: what is trained; jobs of the same workload are compared. By default RAILWEAVE_WORKLOAD, then Slurm's name of the job.
    interval: seconds between reports; the service may ask for more. warm_up: steps at the beginning that are not counted.
    client: url, token and so on of Railweave().
    """

    def __init__(self, job=None, workload=None, interval=60, warm_up=3, rank=None, **client):
        self.problem = None         # why the last report was not taken, for whoever looks
        self.reported = 0           # steps
        self._job, self._id = job or own_job(), None
        self._workload = workload or os.environ.get("RAILWEAVE_WORKLOAD") or os.environ.get("SLURM_JOB_NAME") or ""
        self._interval, self._skip = interval, warm_up
        self._client = {"timeout": 10, "repeats": 0} | client
        self._lock, self._ends = threading.Lock(), threading.Event()
        self._last, self._steps, self._seconds = None, 0, 0.0
        if rank is None:
            rank = next((os.environ[name] for name in RANK_VARIABLES if os.environ.get(name)), "0")
        self._thread = None
        if str(rank) == "0" and self._job:
            self._thread = threading.Thread(target=self._report, name="railweave-steps", daemon=True)
            self._thread.start()

    def __enter__(self):
        self.begin()
        return self

    def __exit__(self, *_):
        self.close()

    def begin(self):
        """A step begins now: after an evaluation, a checkpoint, or whatever else is no step."""
        self._last = time.perf_counter()

    def step(self):
        """A step has ended; the next one begins."""
        now, last = time.perf_counter(), self._last
        self._last = now
        if self._thread is None or last is None:
            return
        if self._skip > 0:
            self._skip -= 1
            return
        with self._lock:
            self._steps += 1
            self._seconds += now - last

    def close(self, timeout=5):
        """Reports what is left, for at most this many seconds."""
        self._ends.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def _report(self):
        try:
            service = Railweave(**self._client)
        except Exception as error:      # a wrong address is no reason to end a training
            self.problem = error
            return
        rest, last = self._interval, False
        while not last and rest is not None:
            last = self._ends.wait(rest)
            rest = self._send(service)
        service.close()

    def _send(self, service):
        """Seconds until the next report; None: there is none. What is not taken is part of the next report."""
        with self._lock:
            steps, seconds = self._steps, self._seconds
        if steps == 0:
            return self._interval
        try:
            body = {"steps": steps, "seconds": seconds} | ({"workload": self._workload} if self._workload else {})
            answer = service.report_job_steps(self._id_of(service), body=body)
            self._take(steps, seconds)
            self.problem, self.reported = None, self.reported + steps
            return max(self._interval, _seconds_between(answer["reportedAt"], answer["nextReportAt"]))
        except Exception as error:
            self.problem = error
            if isinstance(error, Problem) and error.code == "steps.moreThanPassed":   # an earlier report arrived, and its answer did not
                self._take(steps, seconds)
            return None if isinstance(error, Problem) and error.status in FINAL else self._interval

    def _take(self, steps, seconds):
        with self._lock:
            self._steps, self._seconds = self._steps - steps, self._seconds - seconds

    def _id_of(self, service):
        if self._id is None and self._job.startswith("job-"):
            self._id = self._job
        if self._id is None:
            found = next((found for by in ("name", "external")
                          if (found := list(service.items("list_jobs", state="placed", fields="id", **{by: self._job})))), None)
            if not found:
                raise LookupError(f"no job that runs is called {self._job}")
            self._id = found[-1]["id"]
        return self._id


def _seconds_between(first, second):
    read = [datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (first, second)]
    return (read[1] - read[0]).total_seconds()
