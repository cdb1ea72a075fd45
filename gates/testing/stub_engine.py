#!/usr/bin/env python3
"""A stub that speaks the probe protocol as far as the suite's own tests need, and misbehaves on request.

The mode is the first argument (before the word `probe` that the client adds):
  good      answers every request
  crash     dies by SIGSEGV in the middle of `generate`, after last words on standard error
  exit      ends with code 3 instead of answering `generate`
  garbage   answers `generate` with a line that is no JSON
  wrong_id  answers `generate` under another id
  hang      never answers `generate`
  partial   writes half a line, then dies
  refuse    answers `generate` with an error
It counts its requests, so that a test can see whether a process was kept.
"""

import json
import os
import signal
import sys
import time

MODE = sys.argv[1]


def say(answer):
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def misbehave(request):
    """What MODE does instead of answering `generate`; False when it answers after all."""
    if MODE == "crash":
        sys.stderr.write("kernel mmq: index 7 of 4\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGSEGV)
    if MODE == "exit":
        sys.exit(3)
    if MODE == "garbage":
        print("segmentation fault (almost)", flush=True)
    elif MODE == "wrong_id":
        say({"id": request["id"] + 1, "ok": True})
    elif MODE == "hang":
        time.sleep(60)
    elif MODE == "partial":
        sys.stdout.write('{"id": ')
        sys.stdout.flush()
        sys.exit(1)
    elif MODE == "refuse":
        say({"id": request["id"], "ok": False, "error": {"kind": "out_of_memory", "message": "no room"}})
    else:
        return False
    return True


def main():
    count = 0
    for line in sys.stdin:
        request = json.loads(line)
        count += 1
        if request["request"] == "quit":
            say({"id": request["id"], "ok": True})
            return
        if request["request"] == "generate" and misbehave(request):
            continue
        say({"id": request["id"], "ok": True, "count": count, "pid": os.getpid(),
             "variables": {k: v for k, v in os.environ.items() if k.startswith("FG_")},
             "request": request["request"]})


if __name__ == "__main__":
    main()
