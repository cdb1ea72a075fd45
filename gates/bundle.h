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

struct Bundle {
  BundleHeader header;
  bool complete = false;
  std::vector<BundleCell> cells;  // those that have ended, in the matrix's order
  std::vector<CellId> pending;    // those that have not
  std::vector<PairSpec> pairs;    // shared and not applicable ones, with reasons
  std::vector<std::string> rows;  // "default" and the gates
  std::vector<Waiver> waivers;    // of this class
  std::vector<BlindSpot> blind_spots;
  double seconds = 0;

  const BundleCell* Find(const CellId& id) const;
  // The verdict over all cells. Pending cells count as missing evidence.
  Judgement Verdict() const;
  // Over a row's required cells, those it shares, and the cells of `default`.
  Judgement GateVerdict(const std::string& row) const;
  std::map<std::string, int64_t> Counts() const;  // per outcome, "pending", "waived" and "cells"
};

// bundle.json. Deterministic; carries verdicts, counts and `content_sha256`, the sum of itself
// without that member.
fg::Json BundleToJson(const Bundle& bundle);
// Refuses unknown schema versions, unknown members and wrong types by name; checks nothing else
// (bundle_verify.h).
fg::Result<Bundle> BundleFromJson(const fg::Json& json);
// bundle.json, or the folder that holds it.
fg::Result<Bundle> LoadBundle(const std::string& path);

}  // namespace flipgate
