"""Bundles made for tests: the shape of a real one, small enough to read, changed by each test."""

import hashlib
import json
import os

GATES = ("FG_MMQ", "FG_MMQ_RAW", "FG_MMQ_RAW_NB", "FG_MMQ_A_TRANSPOSE", "FG_MMQ_Q6K_NB", "FG_MMQ_A_FUSE", "FG_MMQ_Q6K_EXP", "FG_MMQ_Q4K_DSC")
MIB = 1 << 20

# kind -> row -> models, or ("shared", row), or ("not_applicable", reason); "*" stands for the rows not named.
_ALL, _QUANTIZED, _K, _ODD = ("small-k", "small-q4_0", "small-f16"), ("small-k", "small-q4_0"), ("small-k",), ("small-q4_0", "small-f16")
_SAME = ("not_applicable", "same bits as FG_MMQ; the lattice shows it")
_OTHER = ("not_applicable", "its bits differ; the lattice holds it on and varies the rest")
_MODE = ("not_applicable", "only a mode writes less than it was asked for")
_DEFAULT, _FUSE = ("shared", "default"), ("shared", "FG_MMQ_A_FUSE")
_MATRIX = {
    "parity": {"default": _ALL, "FG_MMQ": _QUANTIZED, "*": _K},
    "greedy_contrast": {"default": _ALL, "FG_MMQ": _QUANTIZED, "*": _K},
    "lattice": {"default": _QUANTIZED, "FG_MMQ": _OTHER, "FG_MMQ_Q6K_NB": _OTHER, "*": _DEFAULT},
    "quality": {"default": _QUANTIZED, "FG_MMQ": _QUANTIZED, "FG_MMQ_Q6K_NB": _K, "*": _SAME},
    "liveness": {"default": _ALL, "FG_MMQ": _QUANTIZED, "*": _K},
    "optout": {"default": _QUANTIZED, "FG_MMQ": _QUANTIZED, "*": _K},
    "decode_neutral": {"default": _QUANTIZED, "*": _DEFAULT},
    "reuse_neutral": {"default": _QUANTIZED, "*": _DEFAULT},
    "mixed_quant": {"default": _FUSE, "FG_MMQ_A_FUSE": _ODD, "*": _MODE},
    "backstop": {"default": _FUSE, "FG_MMQ_A_FUSE": _K, "*": _MODE},
    "readers": {"default": _FUSE, "FG_MMQ_A_FUSE": _K, "*": _MODE},
    "memory_two_way": {"default": _QUANTIZED, "FG_MMQ": _QUANTIZED, "*": _K},
    "determinism": {"default": _QUANTIZED, "*": _DEFAULT},
    "sanitizer": {"default": ("not_applicable", "a device's tools watch a device"), "*": ("not_applicable", "a device's tools watch a device")},
}
KINDS = tuple(_MATRIX)
CELLS = 75  # of make_bundle()


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def memory_side(f16_cache):
    now = {"weights": 5033165, "planes": 0, "f16_cache": f16_cache, "kv": 1572864, "scratch": 734003, "graph": 36864}
    booked = sum(now.values()) - now["weights"]
    return {"now": now, "peak": {**now, "scratch": 1048576}, "booked_anonymous": booked,
            "system_anonymous": booked + 593920, "peak_total": sum(now.values()) + 314573, "peak_resident": 31457280}


def figures(kind, gate, model):
    if kind == "parity":
        by_op = {"matmul mmq.q4_K.nb": {"noise": 900, "rounding": 124, "bug": 0, "worst": 0.4375}, "rms_norm": {"noise": 512, "rounding": 0, "bug": 0, "worst": 0.01}}
        return {"ops": 61, "planes": 18, "op_values": 18432, "op_deviation": {"noise": 17920, "rounding": 512, "bug": 0, "worst_share_of_tolerance": 0.4375, "by_op": by_op},
                "logits": 131072, "logit_worst": 0.00341797, "logit_tolerance": 0.25, "path": "int8", "tokens_compared": 93, "free_steps": 3, "op_labels": {"mmq.q4_K.nb": 12}}
    if kind == "lattice":
        return {"combinations": 96, "corners": 119, "levels": ["plain", "avx2"], "distinct_digests": 1, "distinct_paths": 20,
                "tokens_per_combination": 64, "oracle_tokens_compared": 61}
    if kind == "quality":
        return {"positions": 812, "windows": 4, "kl_mean_nats": 0.00123456, "top1_agreement": 0.985222, "perplexity": 21.4321,
                "perplexity_f32": 21.3987, "not_finite": 0, "tolerances": {"kl": 0.002, "top1": 0.98, "perplexity": 1.005, "held": 25}}
    if kind == "liveness":
        return {"prefills": 8, "rules_checked": 1, "prefill_matmuls": 312, "tokens": 32}
    if kind == "decode_neutral":
        return {"settings": 5, "decode_forwards": 58, "decode_launches": 4466, "tokens_compared": 16, "oracle_tokens_compared": 15}
    if kind == "reuse_neutral":
        return {"settings": 10, "conversations": 2, "graphs_built": 4, "graphs_reused": 44, "topologies": 2, "graphs_built_anew": 96,
                "tokens_compared": 640, "oracle_tokens_compared": 60, "oracle_logits_compared": 320}
    if kind == "mixed_quant":
        modes = {asked: {"mode": got, "reasons": ["weight_mix"] if asked != got else []} for asked, got in (("0", "0"), ("1", "1"), ("2", "1"))}
        return {"modes": modes, "nibble_family_only": False, "tokens_compared": 96, "oracle_tokens_compared": 80}
    if kind == "backstop":
        return {"refusals": 2, "logits": 67584, "tokens_compared": 32}
    if kind == "determinism":
        across = {"16 rows a forward": {"against": "whole", "bitwise": True, "bound": 6, "free": 2}}
        return {"arms": {"whole": {"digest": digest(model), "repeats": 6}}, "across_arms": across, "repeats_compared": 36, "tokens_compared": 288,
                "oracle_tokens_compared": 6}
    if kind == "sanitizer":
        return {"tools": {"memcheck": {"errors": 0, "ended": "exit code 0"}}, "clean_runs": 6, "tokens_compared": 8}
    if kind == "readers":
        return {"readers": 5, "nodes_compared": 812, "tokens_compared": 160, "oracle_tokens_compared": 30}
    if kind == "memory_two_way":
        cached = 9961472 if gate in ("default", "FG_MMQ") else 0
        return {"on": memory_side(2359296), "off": memory_side(2359296 + cached), "relations_checked": 3,
                "relations": [{"side": "on", "category": "planes", "relation": "= 0", "wanted": 0, "held": 0}],
                "budget": {"claim": "lower", "peak_difference_bytes": -cached}}
    return {"tokens_compared": 256, "oracle_tokens_compared": 250, "oracle_free_steps": 6, "digest": digest(gate + model)}


def stream(prompt, tokens, text, salt=""):
    """One stream as gates/streams.cc writes it."""
    return {"prompt": prompt, "prompt_tokens": list(range(24)), "tokens": tokens, "text": text,
            "digests": [digest(f"{prompt} {tokens[: i + 1]} {salt}") for i in range(len(tokens))],
            "top": [[9.5, 8.25] for _ in tokens], "top_tokens": [[t, 7] for t in tokens]}


def arms(head_tokens=(11, 12, 13, 14), head_text=" and the sun was up", variables=None):
    """The attachment of a contrast: the snapshot's stream and head's."""
    labels = {"prefill": {"mmq.q4_K.nb": 36, "rms_norm": 12}, "decode": {"row.q4_K": 99}, "prefills": 1, "decodes": 3}
    head_labels = {**labels, "prefill": {"mmq.q4_K.raw": 36, "rms_norm": 12}}
    old = [stream("first", [1, 2], " a b"), stream("creation", [11, 12, 13, 14], " and the sun was up")]
    now = [stream("first", [1, 2], " a b"), stream("creation", list(head_tokens), head_text)]
    return {"head": {"variables": variables if variables is not None else {"FG_MMQ": "1"}, "labels": head_labels, "streams": now},
            "snapshot": {"variables": {"FG_MMQ": "1", "FG_MMQ_RAW": "0"}, "labels": labels, "streams": old}}


REFUSALS = {"dead_write": "blk.0.ffn_gate: its input was never written in f32 (mode 2)", "stale_plane": "blk.1.attn_q: the plane is that of another node"}


def _statement(kind, row):
    entries = _MATRIX[kind]
    return entries.get(row, entries["*"] if row != "default" else None)


def _cells_and_pairs(rows):
    cells, pairs = [], []
    for kind in _MATRIX:
        for gate in rows:
            entry = _statement(kind, gate)
            if entry[0] == "shared":
                pairs.append({"kind": kind, "gate": gate, "status": "shared", "shared_with": entry[1]})
            elif entry[0] == "not_applicable":
                pairs.append({"kind": kind, "gate": gate, "status": "not_applicable", "reason": entry[1]})
            else:
                cells += [make_cell(kind, gate, model) for model in entry]
    return cells, pairs


def _gate(name):
    mode = name == "FG_MMQ_A_FUSE"
    return {"name": name, "kind": "mode" if mode else "switch", "stage": "promoted", "bits": "other" if name in ("FG_MMQ", "FG_MMQ_Q6K_NB") else "same",
            "needs": ["FG_MMQ"] if name != "FG_MMQ" else [], "env": None, "value": "2" if mode else "1", **({"modes": ["0", "1", "2"]} if mode else {})}


def make_bundle():
    """A proven bundle as a dict. Tests change it, then write it with write_bundle."""
    rows = ["default", *GATES]
    cells, pairs = _cells_and_pairs(rows)
    return {
        "schema": 1, "verdict": "proven", "reasons": [], "subject": "default", "hardware_class": "cpu",
        "device": {"class": "cpu", "name": "Example Processor 3000 @ 2.40GHz", "driver": "", "memory_bytes": 16 << 30,
                   "levels": ["plain", "avx2"], "level": "avx2", "threads": 2},
        "build": {"version": "0.1.0", "commit": "0123456789abcdef0123456789abcdef01234567", "engine_hash": digest("engine"),
                  "defaults_hash": digest("defaults"), "dirty": False, "recipe": digest("recipe"), "sha256": digest("program"),
                  "toolchain": {"compiler": "GNU 12.2.0", "flags": "-O3 -DNDEBUG", "toolkit": "", "architectures": []}},
        "gates": [_gate(g) for g in GATES],
        "models": {m: {"model": {"sha256": digest(m), "architecture": "qwen2", "layers": 6, "width": 256, "vocabulary": 2048,
                                 "context": 1024, "tensors": {"f32": 37, "q4_K": 30}},
                       "planes": [{"plane": "scales", "type": "q4_K", "gate": "FG_MMQ_Q4K_DSC", "weights": 30, "bytes": 1 << 20}],
                       "degradations": []} for m in _ALL},
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
    fork = ("prompt 'creation', step 2: the streams fork: snapshot chose token 13 (margin 0.81), head chose token 97 (margin 0.02)")
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
    for i, row in enumerate(bundle["rows"]):
        bundle["gate_verdicts"][row] = {"verdict": "refuted" if row in ("FG_MMQ", "FG_MMQ_RAW_NB") else "unproven",
                                        "reasons": [f"some cell of {row} did not pass"]}
    bundle["complete"] = False
    bundle["fault"] = "nibbles_swapped"
    bundle["build"]["dirty"] = True
    bundle["waivers"] = [
        {"cell": "memory_two_way/FG_MMQ/small-k", "class": "cpu", "issue": "#12", "owner": "ada", "reason": "the cache is freed a step late", "expires": "2027-01-31", "expired": False},
        {"cell": "parity/FG_MMQ/small-k", "class": "cpu", "issue": "#7", "owner": "bob", "reason": "an older one", "expires": "2026-11-01", "expired": True}]
    bundle["blind_spots"] = [{"phase": "prefill", "op": "matmul", "label": "gemm.f16.q6_K", "count": 9}]
    forked = arms((11, 12, 97, 14), " and the moon was up")
    attach(folder, bundle, "greedy_contrast/FG_MMQ_RAW_NB/small-k", "streams.json", json.dumps(forked).encode())
    attach(folder, bundle, "greedy_contrast/default/small-k", "streams.json", json.dumps(arms(variables={})).encode())
    attach(folder, bundle, "backstop/FG_MMQ_A_FUSE/small-k", "refusals.json", json.dumps(REFUSALS).encode())
    bundle["models"]["small-q4_0"]["degradations"] = [{"from": "FG_MMQ_A_FUSE=2", "to": "FG_MMQ_A_FUSE=1", "reason": "weight_mix"}]
    gone = attach(folder, bundle, "liveness/FG_MMQ/small-q4_0", "labels.json", b"{}\n")
    os.remove(gone)
    write_bundle(folder, bundle)
    return bundle
