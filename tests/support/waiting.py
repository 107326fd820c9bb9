"""Waiting for a condition with a deadline, for tests: nothing sleeps for a fixed time."""
import time


def until(what, condition, seconds=20, every=0.05):
    """The first truthy value of condition(). A string or a callable `what` names what was waited for."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"{what() if callable(what) else what}: not within {seconds} s"
        time.sleep(every)


def steady(what, read, seconds=20, every=0.05, times=3):
    """The value of read() once it was the same `times` times in a row."""
    seen = []

    def same():
        seen.append(read())
        return len(seen) >= times and all(one == seen[-1] for one in seen[-times:])

    until(lambda: f"{what} does not settle, last {seen[-1]}", same, seconds, every)
    return seen[-1]


def holds(check, *arguments):
    """Whether a check passes, instead of its AssertionError."""
    try:
        check(*arguments)
        return True
    except AssertionError:
        return False
