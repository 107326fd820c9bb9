"""Tests that are told as stories: a function each, told in order or those that the command line names."""
import shutil
import sys
import time

SKIPPED = 77  # CTest counts it as not run


def tell(stories, needs=()):
    """Runs the stories, or those named after the folder of binaries; what a test needs and lacks skips all."""
    for tool in needs:
        if not shutil.which(tool):
            print(tool, "is missing")
            return SKIPPED
    chosen = sys.argv[2:]
    for story in stories:
        if not chosen or story.__name__ in chosen:
            began = time.monotonic()
            story()
            print(story.__name__, "ok", f"{time.monotonic() - began:.1f} s")
    return 0
