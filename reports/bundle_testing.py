"""Bundles made for tests: the shape of a real one, small enough to read, changed by each test."""

import hashlib
import json
import os

GATES = ("FG_MMQ", "FG_MMQ_RAW", "FG_MMQ_RAW_NB")
MIB = 1 << 20

# kind -> for each row: models, or ("shared", row), or ("not_applicable", reason)
_ALL, _QUANTIZED, _K = ("small-k", "small-q4_0", "small-f16"), ("small-k", "small-q4_0"), ("small-k",)
_BITS = ("not_applicable", "same bits as FG_MMQ; the lattice shows it")
_DEFAULT = ("shared", "default")
_MATRIX = {
    "parity": (_ALL, _QUANTIZED, _K, _K),
    "greedy_contrast": (_ALL, _QUANTIZED, _K, _K),
    "lattice": (_QUANTIZED, ("not_applicable", "its bits differ; the lattice holds it on and varies the rest"), _DEFAULT, _DEFAULT),
    "quality": (_QUANTIZED, _QUANTIZED, _BITS, _BITS),
    "liveness": (_ALL, _QUANTIZED, _K, _K),
    "optout": (_QUANTIZED, _QUANTIZED, _K, _K),
    "decode_neutral": (_QUANTIZED, _DEFAULT, _DEFAULT, _DEFAULT),
    "memory_two_way": (_QUANTIZED, _QUANTIZED, _K, _K),
}
KINDS = tuple(_MATRIX)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def memory_side(f16_cache):
    now = {"weights": 5033165, "planes": 0, "f16_cache": f16_cache, "kv": 1572864, "scratch": 734003, "graph": 36864}
    booked = sum(now.values()) - now["weights"]
    return {"now": now, "peak": {**now, "scratch": 1048576}, "booked_anonymous": booked,
            "system_anonymous": booked + 593920, "peak_total": sum(now.values()) + 314573, "peak_resident": 31457280}


def figures(kind, gate, model):
    if kind == "parity":
        return {"ops": 61, "op_values": 18432, "op_deviation": {"noise": 17920, "rounding": 512, "bug": 0, "worst_share_of_tolerance": 0.4375},
                "logits": 131072, "logit_worst": 0.00341797, "logit_tolerance": 0.25, "path": "int8", "tokens_compared": 93, "free_steps": 3, "op_labels": {"mmq.q4_K.nb": 12}}
    if kind == "lattice":
        return {"combinations": 11, "levels": ["plain", "avx2"], "distinct_digests": 1, "distinct_label_sets": 3,
                "tokens_per_combination": 64, "oracle_tokens_compared": 61}
    if kind == "quality":
        return {"positions": 812, "windows": 4, "kl_mean_nats": 0.00123456, "top1_agreement": 0.985222, "perplexity": 21.4321,
                "perplexity_f32": 21.3987, "not_finite": 0}
    if kind == "liveness":
        return {"prefills": 8, "rules_checked": 1, "prefill_matmuls": 312, "tokens": 32}
    if kind == "decode_neutral":
        return {"settings": 5, "decode_forwards": 58, "decode_launches": 4466, "tokens_compared": 16, "oracle_tokens_compared": 15}
    if kind == "memory_two_way":
        cached = 9961472 if gate in ("default", "FG_MMQ") else 0
        return {"on": memory_side(2359296), "off": memory_side(2359296 + cached), "relations_checked": 3}
    return {"tokens_compared": 256, "oracle_tokens_compared": 250, "oracle_free_steps": 6, "digest": digest(gate + model)}


def make_bundle():
    """A proven bundle as a dict. Tests change it, then write it with write_bundle."""
    rows = ["default", *GATES]
    cells, pairs = [], []
    for kind, entries in _MATRIX.items():
        for gate, entry in zip(rows, entries):
            if entry[0] == "shared":
                pairs.append({"kind": kind, "gate": gate, "status": "shared", "shared_with": entry[1]})
            elif entry[0] == "not_applicable":
                pairs.append({"kind": kind, "gate": gate, "status": "not_applicable", "reason": entry[1]})
            else:
                cells += [make_cell(kind, gate, model) for model in entry]
    return {
        "schema": 1, "verdict": "proven", "reasons": [], "subject": "default", "hardware_class": "cpu",
        "device": {"class": "cpu", "name": "Example Processor 3000 @ 2.40GHz", "driver": "", "memory_bytes": 16 << 30,
                   "levels": ["plain", "avx2"], "level": "avx2", "threads": 2},
        "build": {"version": "0.1.0", "commit": "0123456789abcdef0123456789abcdef01234567", "engine_hash": digest("engine"),
                  "defaults_hash": digest("defaults"), "dirty": False, "recipe": digest("recipe"), "sha256": digest("program"),
                  "toolchain": {"compiler": "GNU 12.2.0", "flags": "-O3 -DNDEBUG", "toolkit": "", "architectures": []}},
        "gates": [{"name": g, "kind": "switch", "stage": "promoted", "bits": "other" if g == "FG_MMQ" else "same", "needs": [],
                   "env": None, "value": "1"} for g in GATES],
        "models": {m: {"model": {"sha256": digest(m), "architecture": "qwen2", "layers": 6, "width": 256, "vocabulary": 2048,
                                 "context": 1024, "tensors": {"f32": 37, "q4_K": 30}}} for m in _ALL},
        "hashes": {n: digest(n) for n in ("engine", "defaults", "suite", "matrix", "recipe")},
        "snapshot": {"engine": digest("old engine"), "defaults": digest("old defaults"), "commit": "89abcdef" * 5,
                     "program_sha256": digest("old program"), "absent": ""},
        "started": "2026-11-30T18:06:00Z", "fault": "", "variables": {"FG_THREADS": "1"}, "selection": [], "jobs": 2,
        "complete": True, "cells": cells, "pending": [], "pairs": pairs, "rows": rows, "waivers": [], "blind_spots": [],
        "gate_verdicts": {row: {"verdict": "proven", "reasons": []} for row in rows},
        "seconds": 41.7, "counts": {}, "content_sha256": digest("content"),
    }


def make_cell(kind, gate, model):
    return {"kind": kind, "gate": gate, "model": model, "outcome": "pass", "category": "", "agreement": "bitwise", "reason": "",
            "figures": figures(kind, gate, model), "seconds": 0.25 + len(kind + gate) / 16, "runs": [], "attachments": [], "waived": False,
            "labels": ["decode matmul row.q4_K", "prefill matmul mmq.q4_K.nb"] if kind in ("parity", "lattice") else []}


def find_cell(bundle, cell_id):
    return next(c for c in bundle["cells"] if f"{c['kind']}/{c['gate']}/{c['model']}" == cell_id)


def end_cell(bundle, cell_id, outcome, reason, **members):
    find_cell(bundle, cell_id).update(outcome=outcome, reason=reason, **members)


def attach(folder, bundle, cell_id, name, data):
    """Books `data` with the cell and writes it below raw/. Returns the path."""
    sha256 = hashlib.sha256(data).hexdigest()
    find_cell(bundle, cell_id)["attachments"].append({"name": name, "sha256": sha256, "bytes": len(data)})
    os.makedirs(os.path.join(folder, "raw"), exist_ok=True)
    path = os.path.join(folder, "raw", sha256)
    with open(path, "wb") as file:
        file.write(data)
    return path


def count(bundle):
    words = [c["outcome"] for c in bundle["cells"]]
    counts = {word: words.count(word) for word in ("pass", "fail", "flaky", "unsupported", "skipped", "error")}
    pending = len(bundle["pending"])
    return {**counts, "pending": pending, "waived": sum(c["waived"] for c in bundle["cells"]), "cells": len(words) + pending}


def write_bundle(folder, bundle):
    """Writes bundle.json, its counts taken from its cells unless the test has set them."""
    bundle = {**bundle, "counts": bundle["counts"] or count(bundle)}
    with open(os.path.join(folder, "bundle.json"), "w", encoding="utf-8") as file:
        json.dump(bundle, file)


def bad_bundle(folder):
    """A refuted bundle with every outcome, hostile names, waivers, blind spots and raw files; written to `folder`."""
    bundle = make_bundle()
    fork = ("prompt 'creation', step 7: snapshot chose 412 (margin 0.81), head chose 97 (margin 0.02); labels on head: mmq.q4_K.nb")
    end_cell(bundle, "greedy_contrast/FG_MMQ_RAW_NB/small-k", "fail", fork, category="fork", runs=["fail", "fail", "fail"])
    end_cell(bundle, "parity/FG_MMQ_RAW_NB/small-k", "fail", "q4_K_k512_out17 (y_int8): value 12 is <script>alert(1)</script>, expected 3",
             category="op", runs=["fail", "fail", "fail"])
    end_cell(bundle, "liveness/FG_MMQ/small-q4_0", "flaky", "failed, then run 3 ended as pass: 39 wanted, 38 seen", category="label",
             runs=["fail", "fail", "pass"])
    for model in _QUANTIZED:
        end_cell(bundle, f"lattice/default/{model}", "unsupported", "this processor has one instruction-set level only", figures={}, labels=[])
    end_cell(bundle, "optout/default/small-k", "skipped", "renew the snapshot: it does not know FG_MMQ_RAW_NB", figures={})
    end_cell(bundle, "quality/FG_MMQ/small-q4_0", "error", "the time limit of 60 s passed during 'score'", figures={})
    end_cell(bundle, "memory_two_way/FG_MMQ/small-k", "fail", "the gate costs 1.00 MiB at peak, its budget is 0.00 MiB", category="budget",
             runs=["fail", "fail", "fail"], waived=True)
    for cell in [c for c in bundle["cells"] if c["kind"] == "decode_neutral"]:
        bundle["cells"].remove(cell)
        bundle["pending"].append(f"{cell['kind']}/{cell['gate']}/{cell['model']}")
    bundle["verdict"] = "refuted"
    bundle["reasons"] = ["2 cells failed: greedy_contrast/FG_MMQ_RAW_NB/small-k, parity/FG_MMQ_RAW_NB/small-k",
                         "1 cell failed in some runs and not in others: liveness/FG_MMQ/small-q4_0",
                         "made with the fault 'nibbles_swapped', which is never a proof"]
    for row, verdict in zip(bundle["rows"], ("unproven", "refuted", "unproven", "refuted")):
        bundle["gate_verdicts"][row] = {"verdict": verdict, "reasons": [f"some cell of {row} did not pass"]}
    bundle["complete"] = False
    bundle["fault"] = "nibbles_swapped"
    bundle["build"]["dirty"] = True
    bundle["waivers"] = [
        {"cell": "memory_two_way/FG_MMQ/small-k", "class": "cpu", "issue": "#12", "owner": "ada", "reason": "the cache is freed a step late", "expires": "2027-01-31", "expired": False},
        {"cell": "parity/FG_MMQ/small-k", "class": "cpu", "issue": "#7", "owner": "bob", "reason": "an older one", "expires": "2026-11-01", "expired": True}]
    bundle["blind_spots"] = [{"phase": "prefill", "op": "matmul", "label": "gemm.f16.q6_K", "count": 9}]
    attach(folder, bundle, "greedy_contrast/FG_MMQ_RAW_NB/small-k", "streams.json", b'{"head": {}, "snapshot": {}}\n')
    gone = attach(folder, bundle, "liveness/FG_MMQ/small-q4_0", "labels.json", b"{}\n")
    os.remove(gone)
    write_bundle(folder, bundle)
    return bundle
