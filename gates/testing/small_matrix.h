// A small matrix for tests: two kinds, two gates, two models; class `gpu` sees model `a` alone.
#pragma once

#include "gates/matrix.h"

namespace flipgate {

inline constexpr const char* kSmallMatrix =
    "version: 1\n"
    "tolerances: {near: {value: 1, cause: rounding}}\n"
    "models:\n"
    "  a: {from: f.gguf, quantize: q4_k_m, sha256: "
    "1111111111111111111111111111111111111111111111111111111111111111}\n"
    "  b: {from: f.gguf, quantize: f16, sha256: "
    "2222222222222222222222222222222222222222222222222222222222222222, classes: [cpu]}\n"
    "gates:\n"
    "  FG_A: {needs: [], set: {on: {env: 1}, off: {env: 0}}, bits: other, live: {x: \">= 1\"}}\n"
    "  FG_B: {needs: [FG_A], set: {on: {env: 1}, off: {env: 0}}, bits: same, live: {x: \">= 1\"}}\n"
    "evidence:\n"
    "  parity: {models: [a, b], ops: o, pins: p, agreement: {ops: bitwise, logits: near}}\n"
    "  lattice: {models: [a], prompts: p, tokens: 4, threads: [1, 2], pins: q, agreement: "
    "bitwise, distinct_paths: {a: 1}}\n"
    "cells:\n"
    "  parity: {default: required, FG_A: required, FG_B: {required: [a]}}\n"
    "  lattice: {default: required, FG_A: {not_applicable: its bits differ}, FG_B: {shared_with: "
    "default}}\n";

inline const std::vector<std::string>& SmallKinds() {
  static const std::vector<std::string> kKinds = {"parity", "lattice"};
  return kKinds;
}

inline Matrix SmallMatrix() {
  return std::move(Matrix::Parse(kSmallMatrix, "m.yaml", SmallKinds())).value();
}

}  // namespace flipgate
