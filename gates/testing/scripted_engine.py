#!/usr/bin/env python3
"""An engine of a few lines that speaks the probe protocol as the newer kinds of evidence need it, with planted defects.

    scripted_engine.py DEFECT probe              DEFECT: none, or a name that `has` is asked for below
    scripted_engine.py pins MODEL PROMPTS OUT    what an oracle would pin of it

Its "model" is a JSON file: {"w16": {TYPE: COUNT}, "width", "ffn", "layers", "vocabulary"}. The next token follows from the
tokens before it, so whatever disturbs a session shows. Gates: FG_A (a switch, promoted, bits of its own), FG_B (a
switch), FG_MODE (a mode that needs FG_A). Bytes are tokens, modulo the vocabulary.
"""
import hashlib
import http.server
import json
import os
from pathlib import Path
import struct
import sys
import threading

STEPS = 6
READERS = ("FG_GRAPH_DUMP", "FG_DUMP_DIR", "FG_TRACE", "FG_LIVE")
NIBBLE = {"q4_K", "q6_K"}


def has(defect):
    return sys.argv[1] == defect


def logits_of(history, vocabulary):
    """Digest-worthy logits: the chosen token stands out by 4, the others by their number."""
    chosen = (sum(history) + 3 * len(history)) % vocabulary
    return [5.0 if i == chosen else 1.0 + i / 64 for i in range(vocabulary)]


def packed(values):
    return struct.pack(f"<{len(values)}f", *values)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def text_tokens(text, vocabulary):
    return [byte % vocabulary for byte in text.encode()]


class Refusal(Exception):
    def __init__(self, kind, site, message):
        super().__init__(message)
        self.kind, self.site = kind, site


class Engine:
    def __init__(self):
        self.env = {k: v for k, v in os.environ.items() if k.startswith("FG_")}
        self.model, self.sessions, self.forwards = None, {}, 0
        self.spoilt = False
        self.anew()

    def anew(self):
        self.ledger = {"forwards": {"prefill": 0, "decode": 0}, "dispatch": {}, "refusals": [], "built": 0, "reused": 0,
                       "identities": set(), "launches": {"prefill": 0, "decode": 0}, "captures": 0, "replays": 0}
        self.steps = {}

    def on(self, gate):
        return self.env.get(gate, "1" if gate == "FG_A" else "0") != "0"

    def asked(self):
        return self.env.get("FG_MODE", "0")

    # What load decides.

    def resolve(self):
        nibble = set(self.model["w16"]) <= NIBBLE or (has("mix_blind") and set(self.model["w16"]) == {"f16"})
        mode, entries = int(self.asked()), []

        def at_most(most, reason):
            nonlocal mode
            if int(self.asked()) > most:
                mode = min(mode, most)
                entries.append({"from": f"FG_MODE={self.asked()}", "to": f"FG_MODE={most}", "reason": reason})
        if not self.on("FG_A"):
            at_most(0, "needs")
        if self.model["width"] % 256 or self.model["ffn"] % 256:
            at_most(0, "width")
        if not nibble and not has("mix_ignored"):
            at_most(1, "weight_mix")
        if self.env.get("FG_PREFILL_GEMM") == "0":
            at_most(1, "prefill_gemm")
        for reader in READERS:
            if reader in self.env and not has("reader_ignored"):
                at_most(1, f"reader {reader}")
        return nibble, mode, [] if has("no_reason") else entries

    def load(self, request):
        data = Path(request["model"]).read_bytes()
        self.model = json.loads(data)
        self.nibble, self.mode, degradations = self.resolve()
        self.open_readers()
        return {"model": {**self.model, "sha256": sha256(data)}, "nibble_family_only": self.nibble, "planes": [],
                "fuse_mode": {"asked": self.asked(), "mode": str(self.mode)}, "degradations": degradations}

    # Readers.

    def open_readers(self):
        for variable in ("FG_GRAPH_DUMP", "FG_TRACE"):
            if variable in self.env:
                Path(self.env[variable]).write_text("" if has("reader_silent") else "[]\n")
        if "FG_LIVE" in self.env and not has("page_dead"):
            class Page(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.protocol_version = "HTTP/1.1"
                    self.send_response(500 if has("page_broken") else 200)
                    self.end_headers()
                    self.wfile.write(b"<!doctype html><html></html>")

                def log_message(self, *_):
                    pass
            server = http.server.HTTPServer(("127.0.0.1", int(self.env["FG_LIVE"])), Page)
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def dump(self, history, rows, logits):
        if "FG_DUMP_DIR" not in self.env:
            return
        folder = Path(self.env["FG_DUMP_DIR"]) / f"forward-{self.forwards:06}"
        folder.mkdir(parents=True)
        values = [float(t) for t in history[-rows:]]
        norm = [0.0] * rows if has("reader_ignored") and self.mode == 2 else values
        nodes = [("embed", rows, 1, values), ("rms_norm", rows, 1, norm), ("matmul", 1, len(logits), logits)]
        if has("node_missing") and self.mode:
            nodes.pop(1)
        with open(folder / "nodes.jsonl", "w") as lines:
            for index, (op, count, columns, numbers) in enumerate(nodes):
                name = f"{index:04}-{op}.bin"
                (folder / name).write_bytes(packed(numbers))
                lines.write(json.dumps({"index": index, "op": op, "weight": "", "layer": -1, "rows": count, "columns": columns,
                                        "label": op, "file": name, "sha256": sha256(packed(numbers))}) + "\n")

    # Steps that are captured when they come for the second time, and replayed from then on.

    def replayed(self, phase, rows):
        self.ledger["launches"][phase] += 5
        if (self.env.get("FG_CAPTURE") == "0") != has("eager_captures") or has("never_captures"):
            return False
        times = self.steps[rows] = self.steps.get(rows, 0) + 1
        self.ledger["captures"] += times == 2
        self.ledger["replays"] += times > 2
        self.ledger["launches"][phase] -= int(has("replay_launches") and times > 2)
        return times > 2

    # Forwards.

    def count(self, phase, op, label, count):
        if count:
            key = (phase, op, label)
            self.ledger["dispatch"][key] = self.ledger["dispatch"].get(key, 0) + count

    def forward(self, history, rows, reuse):
        phase, layers = ("prefill" if rows >= 16 else "decode"), self.model["layers"]
        self.ledger["forwards"][phase] += 1
        identity = f"{rows:04x}" + (str(self.mode) if has("gate_in_graph") else "")
        fresh = identity not in self.ledger["identities"] or (not reuse and not has("reuse_ignored"))
        self.ledger["built" if fresh else "reused"] += 1
        self.ledger["identities"].add(identity)
        replayed = self.replayed(phase, rows)
        for kind, weights in self.model["w16"].items():
            path = "b" if self.on("FG_B") and not has("one_path") else "a"
            if has("level_labels") and self.env.get("FG_CPU_LEVEL") == "low":
                path += ".slow"
            self.count(phase, "matmul", f"mmq.{kind}.{path}" if phase == "prefill" else f"row.{kind}", weights)
        if phase == "prefill" and self.mode and not has("fuse_dead"):
            self.count(phase, "rms_norm", f"rms_norm.fuse{self.mode}", 2 * layers - 1)
            self.count(phase, "swiglu", f"swiglu.fuse{self.mode}", layers - 1)
        shift = int(has("mode1_forks") and self.mode == 1 and rows < 16)
        shift += int(has("low_forks") and self.env.get("FG_CPU_LEVEL") == "low")
        shift += int(has("stale_graph") and not fresh and rows >= 16)
        shift += int(has("reader_forks") and "FG_TRACE" in self.env)
        shift += int(self.spoilt)
        shift += int(has("replay_forks") and replayed and history[0] == 16 and len(history) > 30)
        shift += int(has("few_rows_fork") and 1 < rows < 16)
        if has("replay_labels") and replayed:
            self.count(phase, "add", "add.replayed", 1)
        logits = logits_of([*history, *[1] * shift], self.model["vocabulary"])
        if has("racing"):
            logits[0] += self.forwards / 1024
        if has("thread_bits") and self.env.get("FG_THREADS") == "2":
            logits[0] += 1 / 1024
        if has("few_rows_differ") and 1 < rows < 16:
            logits[0] += 1 / 1024
        self.dump(history, rows, logits)
        self.forwards += 1
        return logits

    def generate(self, request):
        vocabulary = self.model["vocabulary"]
        history = self.sessions.setdefault(request["session"], [])
        if history and has("kv_row_off"):
            history.pop(0)
        prompt = request.get("tokens") or text_tokens(request["prompt"], vocabulary)
        reuse, rows = request.get("reuse", True), request.get("rows_per_forward", 512)
        logits = None
        for at in range(0, len(prompt), rows):
            history += prompt[at:at + rows]
            logits = self.forward(history, len(prompt[at:at + rows]), reuse)
        tokens, digests, top = [], [], []
        for step in range(request["max_tokens"]):
            if step:
                history.append(tokens[-1])
                logits = self.forward(history, 1, reuse)
            order = sorted(range(vocabulary), key=lambda i: -logits[i])
            tokens.append(order[0])
            digests.append(sha256(packed(logits)))
            top.append([[i, logits[i]] for i in order[:2]])
        if tokens:
            history.append(tokens[-1])
        return {"prompt_tokens": prompt, "tokens": tokens, "text": "", "digests": digests, "top": top, "finish": "length"}

    def op(self, request):
        shape = request["inputs"]["tokens"]
        tokens = list(struct.unpack(f"<{shape['shape'][0]}i", Path(shape["file"]).read_bytes()))
        violation = request.get("violate")
        if violation and not has("silent"):
            message = f"node 3 asks for another plane of a buffer: {violation}"
            if not has("not_booked"):
                self.ledger["refusals"].append(message)
            if has("leaves_file"):
                (Path(request["out"]) / "logits.bin").write_bytes(b"half")
            self.spoilt = has("spoilt_after")
            raise Refusal("internal" if has("wrong_kind") else "refused", "op.forward", message)
        wanted = request["params"]["wanted"]
        Path(request["out"]).mkdir(exist_ok=True)
        out = Path(request["out"]) / "logits.bin"
        rows = [logits_of(tokens[:at], self.model["vocabulary"]) for at in range(len(tokens) - wanted + 1, len(tokens) + 1)]
        if has("forward_off"):
            rows[0][0] += 1
        out.write_bytes(b"".join(map(packed, rows)))
        return {"outputs": {"logits": {"file": str(out), "dtype": "f32"}}, "labels": []}

    # Memory of a device of its own; 64 MiB of it may be booked nowhere.

    def memory(self):
        booked, before = {"weights": 300, "kv": 20 + 5 * int(has("gate_holds") and not self.on("FG_A"))}, 1000
        used = before + sum(booked.values()) + 3 + 64 * has("unbooked")
        sizes = {name: {"now": mib << 20, "peak": mib << 20, "file_backed": name == "weights"} for name, mib in booked.items()}
        return {"categories": sizes, "system": {"anonymous": 1, "file_backed": 0, "peak_resident": 1},
                "device": {"total": 9000 << 20, "used": used << 20, "used_before": before << 20}}

    def told_ledger(self):
        told = self.ledger
        self.anew()
        return {"forwards": told["forwards"], "refusals": told["refusals"], "gate_reads": [], "launches": told["launches"],
                "captures": told["captures"], "replays": told["replays"],
                "dispatch": [{"phase": p, "op": o, "label": l, "count": c} for (p, o, l), c in sorted(told["dispatch"].items())],
                "graphs": {"built": told["built"], "reused": told["reused"], "identities": sorted(told["identities"])}}

    def answer(self, request):
        kind = request["request"]
        if kind == "reset":
            self.sessions.clear()
            self.anew()
        known = {"load": lambda: self.load(request), "generate": lambda: self.generate(request),
                 "op": lambda: self.op(request), "ledger": self.told_ledger, "memory": self.memory}
        return known.get(kind, dict)()


def say(answer):
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def serve():
    engine = Engine()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            say({"id": request["id"], "ok": True, **engine.answer(request)})
        except Refusal as refusal:
            say({"id": request["id"], "ok": False,
                 "error": {"kind": refusal.kind, "site": refusal.site, "kernel": "", "message": str(refusal)}})
        if request["request"] == "quit":
            return


def pin(model, prompts, out):
    data, entries = Path(model).read_bytes(), []
    vocabulary = json.loads(data)["vocabulary"]
    Path(out).mkdir(parents=True)
    for path in sorted(Path(prompts).glob("*.txt")):
        history = text_tokens(path.read_text(), vocabulary)
        ids, tokens, rows = list(history), [], []
        for _ in range(STEPS + 1):
            rows.append(logits_of(history, vocabulary))
            tokens.append(rows[-1].index(max(rows[-1])))
            history.append(tokens[-1])
        name = f"{path.stem}.logits.f32"
        (Path(out) / name).write_bytes(b"".join(map(packed, rows)))
        entries.append({"name": path.stem, "ids": ids, "tokens": tokens[:-1], "margins": [2.0] * (STEPS + 1),
                        "logits": {"file": name, "shape": [STEPS + 1, vocabulary]}})
    index = {"model": {"sha256": sha256(data)}, "tolerance": {"int8": 0.25, "f16": 0.125}, "prompts": entries}
    (Path(out) / "index.json").write_text(json.dumps(index))


if __name__ == "__main__":
    pin(*sys.argv[2:]) if sys.argv[1] == "pins" else serve()
