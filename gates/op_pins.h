// Operations with pinned results: inputs, what the numpy model of the arithmetic gives bit for bit,
// what float64 gives, and how far rounding may take a result from it (docs/oracle.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gates/run_context.h"

namespace flipgate {

struct PinnedArray {
  std::string file, dtype;
  std::vector<int64_t> shape;
};

struct OpCase {
  std::string name, op;
  fg::Json params;
  std::map<std::string, PinnedArray> inputs;
  std::map<std::string, PinnedArray>
      expect;  // "y", "plane"; matmul: "y_int8", "y_f16", "y_f32", "y_row"
  std::map<std::string, PinnedArray> exact;             // float64
  std::map<std::string, PinnedArray> noise, tolerance;  // float64, by the keys of `expect`
};

struct OpPins {
  std::string folder;  // absolute
  std::vector<OpCase> cases;
};

// FOLDER/index.json (from the project's root). kUsage names what is wrong.
fg::Result<OpPins> LoadOpPins(const Project& project, const std::string& folder);

// How one result stands to its pins.
struct OpVerdict {
  int64_t values = 0, different = 0;         // against the numpy model, bits
  int64_t noise = 0, rounding = 0, bug = 0;  // against float64, by magnitude
  double worst = 0;                          // largest deviation as a share of its tolerance
  std::string fault;                         // "" when all values are inside
};

// What a result is held to.
struct OpLimit {
  bool bitwise = true;  // the numpy model's bits; else float64 alone
  double factor = 1;    // times the pinned tolerance, where it is not bitwise
  // Where > 0, in place of the pinned tolerance: this share of the row's largest exact value (a row
  // is the last extent of the shape), for a path whose inputs are rounded otherwise than pinned.
  double share = 0;
};

// `got` holds the result's bytes. `key` is the expectation's name. f32 results: two NaN are equal,
// a NaN on one side only is a difference, and a value beyond its tolerance or not comparable is
// `bug`. Where the limit is not bitwise, differences from the numpy model are counted and are no
// fault; a result without exact values (an input is not finite) must then be NaN, infinite and
// finite where the model is. Planes are bytes in every case.
fg::Result<OpVerdict> JudgeOp(const OpPins& pins, const OpCase& pinned, const std::string& key,
                              const std::string& got, const OpLimit& limit = {});

}  // namespace flipgate
