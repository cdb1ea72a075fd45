"""The built programs, for the end-to-end tests: run them as a user would, with a clean environment."""

import json
import os
from pathlib import Path
import subprocess

ROOT = Path(__file__).resolve().parent.parent
# Where the programs lie: CTest tells; by hand the release preset's folder.
BIN = Path(os.environ.get("FG_BINARY_DIR", ROOT / "build")) / "bin"
ENGINE = str(BIN / "fg-engine")
FLIPGATE = str(BIN / "flipgate")


def run(*words, env=None, timeout=300, cwd=ROOT):
    """The finished process of WORDS; no FG_ variable of the caller's reaches it but those of `env`."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("FG_")}
    clean.update(env or {}, NO_COLOR="1")
    return subprocess.run([str(w) for w in words], cwd=cwd, env=clean, timeout=timeout, check=False,
                          capture_output=True, text=True)


def ask_hello():
    """What the engine says of itself."""
    done = subprocess.run([ENGINE, "probe"], input='{"id": 1, "request": "hello"}\n', capture_output=True, text=True,
                          check=True, env={"PATH": os.environ["PATH"]})
    return json.loads(done.stdout.splitlines()[0])
