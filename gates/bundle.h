// What a run writes: bundle.json (alone enough to verify), raw/SHA256, junit.xml, summary.md,
// bundle.tar.gz. Format: docs/bundle.md, docs/schema/bundle.schema.json.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "gates/evidence.h"
#include "gates/matrix.h"
#include "gates/verdict.h"

namespace flipgate {

inline constexpr int kBundleSchema = 1;

// The hashes of docs/hashes.md; "" where the project is no git repository.
struct BundleHashes {
  std::string engine, defaults, suite, matrix, recipe;
};

// The arm that head is compared with. Empty strings where there is none; then `absent` says why.
struct SnapshotRecord {
  std::string engine, defaults;  // hashes
  std::string commit;
  std::string program_sha256;
  std::string absent;
};

// What a bundle says of its run as a whole.
struct BundleHeader {
  std::string subject;  // "default", or a subject of the matrix
  std::string hardware_class;
  fg::Json device = fg::Json::object();  // as hello answers it
  fg::Json build = fg::Json::object();   // head's, as hello answers it
  fg::Json gates = fg::Json::array();    // head's, as hello answers them with nothing set
  fg::Json models =
      fg::Json::object();  // name -> what load answered of it: sha256, architecture, tensors, w16
  BundleHashes hashes;
  SnapshotRecord snapshot;
  std::string started;  // "2026-11-30T18:06:00Z"
  std::string fault;    // "" for none
  // What the engines were started with, from the allow-list: name -> value. Never a path, a host or
  // a secret.
  std::map<std::string, std::string> variables;
  std::vector<std::string> selection;  // --cell and --without as given; empty: the whole matrix
  int64_t jobs = 1;
  // Folders of this machine that are cut out of every text of the bundle. Not written.
  std::vector<std::string> private_folders;
};

struct AttachmentRecord {
  std::string name, sha256;
  int64_t bytes = 0;
};

struct BundleCell {
  CellId id;
  Outcome outcome = Outcome::kError;
  std::string category, agreement, reason;
  fg::Json figures = fg::Json::object();
  double seconds = 0;
  std::vector<std::string> labels;
  std::vector<AttachmentRecord> attachments;
  std::vector<std::string>
      runs;  // outcomes of all runs of a cell that failed at first: "fail", "fail", "pass"
};

// A dispatch label of the default path that no value-checking evidence reached.
struct BlindSpot {
  std::string phase, op, label;
  int64_t count = 0;
};

// A pair of kind and row that has no cell of its own.
struct BundlePair {
  enum class Status { kShared, kNotApplicable, kOutOfScope };
  std::string kind, gate;
  Status status = Status::kNotApplicable;
  std::string shared_with;  // kShared
  std::string reason;       // kNotApplicable
};

struct Bundle {
  BundleHeader header;
  bool complete = false;
  std::vector<BundleCell> cells;  // those that have ended, in the matrix's order
  std::vector<CellId> pending;    // those that have not
  std::vector<BundlePair> pairs;  // all pairs of kind and row without cells, with reasons
  std::vector<std::string> rows;  // "default" and the gates
  std::vector<Waiver> waivers;    // of this class
  std::vector<BlindSpot> blind_spots;
  double seconds = 0;

  const BundleCell* Find(const CellId& id) const;
  // The verdict over all cells. Pending cells count as missing evidence.
  Judgement Verdict() const;
  // Over a row's required cells, those it shares, and the cells of `default`.
  Judgement GateVerdict(const std::string& row) const;
  bool Waived(const BundleCell& cell) const;      // it failed, and a waiver holds on the run's date
  std::string Date() const;                       // the run's, YYYY-MM-DD
  std::map<std::string, int64_t> Counts() const;  // per outcome, "pending", "waived" and "cells"
};

// The pairs of a matrix that have no cell on a class.
std::vector<BundlePair> PairsWithoutCells(const Matrix& matrix, const std::string& hardware_class);

// bundle.json. Deterministic; carries verdicts, counts and `content_sha256`, the sum of itself
// without that member.
fg::Json BundleToJson(const Bundle& bundle);
// The value of `content_sha256` for a bundle.json.
std::string ContentSum(const fg::Json& json);
// Refuses unknown schema versions, unknown members and wrong types by name; checks nothing else
// (verify.h).
fg::Result<Bundle> BundleFromJson(const fg::Json& json);
// bundle.json, or the folder that holds it.
fg::Result<Bundle> LoadBundle(const std::string& path);

}  // namespace flipgate
