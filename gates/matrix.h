// The matrix: which gate needs which evidence on which model. Loaded strictly from
// gates/matrix.yaml; a mistake is an error with file, line and column, never a smaller matrix.
// Format: docs/matrix.md, docs/schema/matrix.schema.json.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "gates/evidence.h"
#include "gates/live_formula.h"

namespace flipgate {

// The reserved row beside the gates: the default as a whole.
inline constexpr const char* kDefaultRow = "default";
inline constexpr const char* kBitwise = "bitwise";

// How engines run on a hardware class.
struct ClassSpec {
  std::string name;
  std::vector<std::string> probe = {"probe"};  // the words that start the probe, after the program
  std::string device;   // which planted faults can act there: "cpu", "cuda", ...; "" any
  int64_t cells = 0;    // at a time, at most; 0: as many as jobs
  int64_t engines = 8;  // processes that are kept
};

// An engine that does not speak the probe by itself, or another binary under judgement.
struct SubjectSpec {
  std::string name;
  std::vector<std::string>
      command;  // program and arguments; "{project}" stands for the project's root
};

// A model variant, made once by head: by `quantize` from a file of the project, or by `synth` of
// random weights.
struct ModelSpec {
  std::string name;
  std::string from;                  // path from the project's root; "" for a synthetic one
  std::string quantize;              // mix, as `fg-engine quantize` and `synth --mix` take it
  std::string shape;                 // of a synthetic one, as `fg-engine synth` takes it
  int64_t seed = 1;                  // of its weights
  std::string sha256;                // of the variant's file; another sum is an error
  std::string no_pins;               // why no oracle pins it; "" where one does
  std::vector<std::string> classes;  // empty: every class

  bool synthetic() const { return !shape.empty(); }
  bool InScope(const std::string& hardware_class) const;
  std::string Source() const;  // "fixtures/models/small.f16.gguf", "shape narrow, seed 1"
};

// A rule on the labels of phase `prefill`: the sum of counts over all labels that match.
struct LabelRule {
  std::string pattern;
  LiveFormula formula;
};

// A relation of the memory ledger: bytes held now in one category. Formula as for labels, prefills
// 0.
struct MemoryRule {
  std::string category;  // "f16_cache", as the probe's `memory` names it
  LiveFormula formula;
};

// What a gate claims and what it may cost on a class. Metrics: "memory", "prefill", "decode",
// "load".
struct GateBudget {
  std::map<std::string, std::string>
      claims;  // metric -> "faster", "slower", "flat", "lower", "higher"
  struct Cost {
    double amount = 0;  // in `unit`; the most that the figure may grow by (or, with '-', shrink by)
    std::string unit;   // "MiB", "%"
    std::string reason;  // required where the amount is a loss of speed
  };
  std::map<std::string, Cost> may_cost;
};

struct GateSpec {
  std::string name;
  std::vector<std::string> needs;          // must equal what hello says
  std::map<std::string, std::string> set;  // "on", "off" (and a mode's names) -> variable's text
  std::vector<std::string> scope;          // classes on which it is built; empty: every class
  bool same_bits = true;                   // bits: same | other
  std::vector<std::string>
      shadowed_by;    // gates that take over its labels; liveness and optout set them to off
  GateBudget budget;  // for every class
  std::map<std::string, GateBudget> budget_of;  // a class's own, in place of `budget`
  std::vector<LabelRule> live;                  // with the gate and its needs on
  std::vector<LabelRule> dead;                  // same; the formula is "= 0" or what may remain
  std::vector<LabelRule> back;  // with the gate at off: the path that `0` brings back

  std::vector<MemoryRule> memory_on,
      memory_off;  // declared relations with the gate on and off; none: it holds nothing

  const GateBudget& Budget(const std::string& hardware_class) const;
};

// A named limit with its cause. A bare number is refused.
struct Tolerance {
  std::string name;
  double value = 0;
  std::string cause;
};

// How one kind is measured. Which fields a kind may carry: matrix_evidence.cc.
struct EvidenceSpec {
  std::string kind;
  std::vector<std::string> scope;  // classes; empty: every class
  std::vector<std::string> models;
  int64_t timeout_ms = 60000;  // of one cell
  std::map<std::string, std::string>
      agreement;  // aspect -> "bitwise" or a tolerance's name; "" is the plain one
  fg::Json fields = fg::Json::object();  // the rest, typed: tokens, prompts, threads, ...

  int64_t Integer(const char* field) const;  // present by the schema
  std::string Text(const char* field) const;
};

// One pair of kind and gate (or `default`).
struct PairSpec {
  enum class Status { kRequired, kShared, kNotApplicable };
  std::string kind, gate;
  Status status = Status::kRequired;
  std::string shared_with;           // kShared: a row whose pair is required
  std::string reason;                // kNotApplicable
  std::vector<std::string> models;   // kRequired: a narrower list than the kind's; else empty
  std::vector<std::string> classes;  // kRequired: empty is every class
};

class Matrix {
 public:
  // `kinds` are the names of AllEvidenceKinds(). kUsage with place for every mistake. Messages name
  // `file_name`.
  static fg::Result<Matrix> Parse(std::string text, std::string file_name,
                                  const std::vector<std::string>& kinds);
  static fg::Result<Matrix> Load(const std::string& path, std::string file_name,
                                 const std::vector<std::string>& kinds);

  // How engines run on a class. A matrix without the block `classes` takes every class as one of
  // `probe` alone; else kUsage for one that is not declared, with the list.
  fg::Result<ClassSpec> Class(const std::string& hardware_class) const;

  const std::vector<SubjectSpec>& subjects() const { return subjects_; }
  const std::vector<ModelSpec>& models() const { return models_; }
  const std::vector<GateSpec>& gates() const { return gates_; }
  const std::vector<Tolerance>& tolerances() const { return tolerances_; }
  const std::vector<EvidenceSpec>& evidence() const {
    return evidence_;
  }                                                              // in the order of the file
  const std::vector<PairSpec>& pairs() const { return pairs_; }  // kinds x (default, gates)

  // nullptr when there is none of that name.
  const ModelSpec* FindModel(std::string_view name) const;
  const GateSpec* FindGate(std::string_view name) const;
  // As it stands for every class; of a class: with what differs there.
  const EvidenceSpec* FindEvidence(std::string_view kind) const;
  const EvidenceSpec* FindEvidence(std::string_view kind, const std::string& hardware_class) const;
  const Tolerance* FindTolerance(std::string_view name) const;
  const PairSpec* FindPair(std::string_view kind, std::string_view gate) const;

  // Models of a required pair in scope of a class; none where the pair is out of scope there.
  std::vector<std::string> Models(const PairSpec& pair, const std::string& hardware_class) const;
  // The required cells in scope of a class, kinds in the file's order, then default and gates, then
  // models.
  std::vector<CellId> Cells(const std::string& hardware_class) const;
  // Names of rows: "default", then the gates; of a class: those that are built there.
  std::vector<std::string> Rows() const;
  std::vector<std::string> Rows(const std::string& hardware_class) const;
  // Whether a gate is built, and a kind measured, on a class.
  bool GateInScope(std::string_view gate, const std::string& hardware_class) const;
  bool KindInScope(std::string_view kind, const std::string& hardware_class) const;

  // The loaded matrix in scope of a class, canonical: what the hash is taken of and what `list
  // --json` shows. Files stand as `source` of their model: the git blob id that `blob_id(path)`
  // gives.
  using BlobId = std::function<fg::Result<std::string>(const std::string& path)>;
  fg::Result<fg::Json> Canonical(const std::string& hardware_class, const BlobId& blob_id) const;
  // matrix[class]: sha256 of Canonical().dump().
  fg::Result<std::string> Hash(const std::string& hardware_class, const BlobId& blob_id) const;

 private:
  friend class MatrixLoader;
  bool InScope(const PairSpec& pair, const std::string& hardware_class) const;

  std::vector<ClassSpec> classes_;
  std::vector<SubjectSpec> subjects_;
  std::vector<ModelSpec> models_;
  std::vector<GateSpec> gates_;
  std::vector<Tolerance> tolerances_;
  std::vector<EvidenceSpec> evidence_;
  // Kind -> class -> the whole of what holds there.
  std::map<std::string, std::map<std::string, EvidenceSpec>, std::less<>> evidence_of_;
  std::vector<PairSpec> pairs_;
};

// The git blob id (sha1, 40 hexadecimal digits) of a file's bytes as they lie in the working tree.
fg::Result<std::string> GitBlobId(const std::string& path);

}  // namespace flipgate
