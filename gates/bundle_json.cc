// bundle.json, both ways. Format: docs/bundle.md.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/nearest.h"
#include "base/sha256.h"
#include "gates/bundle.h"
#include "gates/bundle_files.h"
#include "gates/cells.h"

namespace flipgate {
namespace {

using fg::Json;
using fg::JsonFields;
using fg::Result;
using fg::Status;

constexpr const char* kPairStatus[] = {"shared", "not_applicable", "out_of_scope"};

Json JudgementToJson(const Judgement& judgement) {
  return {{"verdict", VerdictName(judgement.verdict)}, {"reasons", judgement.reasons}};
}

Json CellToJson(const BundleCell& cell, bool waived) {
  Json attachments = Json::array();
  for (const AttachmentRecord& record : cell.attachments) {
    attachments.push_back(
        {{"name", record.name}, {"sha256", record.sha256}, {"bytes", record.bytes}});
  }
  return {{"kind", cell.id.kind},
          {"gate", cell.id.gate},
          {"model", cell.id.model},
          {"outcome", OutcomeName(cell.outcome)},
          {"category", cell.category},
          {"agreement", cell.agreement},
          {"reason", cell.reason},
          {"figures", cell.figures},
          {"seconds", cell.seconds},
          {"labels", cell.labels},
          {"attachments", attachments},
          {"runs", cell.runs},
          {"waived", waived}};
}

Json PairsToJson(const std::vector<BundlePair>& pairs) {
  Json json = Json::array();
  for (const BundlePair& pair : pairs) {
    Json entry = {{"kind", pair.kind},
                  {"gate", pair.gate},
                  {"status", kPairStatus[static_cast<int>(pair.status)]}};
    if (pair.status == BundlePair::Status::kShared) entry["shared_with"] = pair.shared_with;
    if (pair.status == BundlePair::Status::kNotApplicable) entry["reason"] = pair.reason;
    json.push_back(std::move(entry));
  }
  return json;
}

Json WaiversToJson(const Bundle& bundle) {
  Json json = Json::array();
  for (const Waiver& waiver : bundle.waivers) {
    json.push_back({{"cell", waiver.cell.Text()},
                    {"class", waiver.hardware_class},
                    {"issue", waiver.issue},
                    {"owner", waiver.owner},
                    {"reason", waiver.reason},
                    {"expires", waiver.expires},
                    {"expired", !Holds(waiver, bundle.Date())}});
  }
  return json;
}

void HeaderToJson(const BundleHeader& header, Json* json) {
  const BundleHashes& hashes = header.hashes;
  const SnapshotRecord& snapshot = header.snapshot;
  json->update({{"subject", header.subject},
                {"hardware_class", header.hardware_class},
                {"device", header.device},
                {"build", header.build},
                {"gates", header.gates},
                {"models", header.models},
                {"hashes",
                 {{"engine", hashes.engine},
                  {"defaults", hashes.defaults},
                  {"suite", hashes.suite},
                  {"matrix", hashes.matrix},
                  {"recipe", hashes.recipe}}},
                {"snapshot",
                 {{"engine", snapshot.engine},
                  {"defaults", snapshot.defaults},
                  {"commit", snapshot.commit},
                  {"program_sha256", snapshot.program_sha256},
                  {"absent", snapshot.absent}}},
                {"started", header.started},
                {"fault", header.fault},
                {"variables", header.variables},
                {"selection", header.selection},
                {"jobs", header.jobs}});
}

// Reads an array of objects; `read` gets each with its place.
template <typename Read>
void ForEach(JsonFields* fields, const char* name, Read read) {
  const Json* array = fields->RequiredArray(name);
  for (size_t i = 0; array != nullptr && i < array->size() && fields->ok(); ++i) {
    const Status status = read((*array)[i], fmt::format("{}[{}]", name, i));
    if (!status.ok()) fields->Adopt(status);
  }
}

// A word of a fixed list, refused with the nearest.
void RequiredWord(JsonFields* fields, const char* name, const std::vector<std::string>& words,
                  std::string* out) {
  fields->Required(name, out);
  if (!fields->ok() || std::find(words.begin(), words.end(), *out) != words.end()) return;
  fields->Mistake(name, fmt::format("unknown word '{}'{}", *out, fg::DidYouMean(*out, words)));
}

Status ReadAttachment(const Json& json, const std::string& where, BundleCell* cell) {
  AttachmentRecord record;
  JsonFields fields(json, where);
  fields.Required("name", &record.name);
  fields.Required("sha256", &record.sha256);
  fields.Required("bytes", &record.bytes);
  cell->attachments.push_back(std::move(record));
  return fields.Finish();
}

Status ReadCell(const Json& json, const std::string& where, Bundle* bundle) {
  BundleCell cell;
  std::string outcome;
  bool waived = false;
  JsonFields fields(json, where);
  fields.Required("kind", &cell.id.kind);
  fields.Required("gate", &cell.id.gate);
  fields.Required("model", &cell.id.model);
  RequiredWord(&fields, "outcome", {"pass", "fail", "flaky", "unsupported", "skipped", "error"},
               &outcome);
  fields.Required("category", &cell.category);
  fields.Required("agreement", &cell.agreement);
  fields.Required("reason", &cell.reason);
  if (const Json* figures = fields.RequiredObject("figures")) cell.figures = *figures;
  fields.Required("seconds", &cell.seconds);
  fields.Required("labels", &cell.labels);
  fields.Required("runs", &cell.runs);
  fields.Required("waived", &waived);  // derived; verify compares
  ForEach(&fields, "attachments", [&](const Json& item, const std::string& place) {
    return ReadAttachment(item, where + "." + place, &cell);
  });
  FG_RETURN_IF_ERROR(fields.Finish());
  cell.outcome = *OutcomeOfName(outcome);
  bundle->cells.push_back(std::move(cell));
  return Status::Ok();
}

Status ReadPair(const Json& json, const std::string& where, Bundle* bundle) {
  BundlePair pair;
  std::string status;
  JsonFields fields(json, where);
  fields.Required("kind", &pair.kind);
  fields.Required("gate", &pair.gate);
  RequiredWord(&fields, "status", {kPairStatus[0], kPairStatus[1], kPairStatus[2]}, &status);
  for (int i = 0; i < 3; ++i) {
    if (status == kPairStatus[i]) pair.status = static_cast<BundlePair::Status>(i);
  }
  if (status == kPairStatus[0]) fields.Required("shared_with", &pair.shared_with);
  if (status == kPairStatus[1]) fields.Required("reason", &pair.reason);
  FG_RETURN_IF_ERROR(fields.Finish());
  bundle->pairs.push_back(std::move(pair));
  return Status::Ok();
}

Status ReadWaiver(const Json& json, const std::string& where, Bundle* bundle) {
  Waiver waiver;
  std::string cell;
  bool expired = false;
  JsonFields fields(json, where);
  fields.Required("cell", &cell);
  fields.Required("class", &waiver.hardware_class);
  fields.Required("issue", &waiver.issue);
  fields.Required("owner", &waiver.owner);
  fields.Required("reason", &waiver.reason);
  fields.Required("expires", &waiver.expires);
  fields.Required("expired", &expired);  // derived
  FG_RETURN_IF_ERROR(fields.Finish());
  FG_ASSIGN_OR_RETURN(waiver.cell, ParseCellId(cell));
  bundle->waivers.push_back(std::move(waiver));
  return Status::Ok();
}

Status ReadBlindSpot(const Json& json, const std::string& where, Bundle* bundle) {
  BlindSpot spot;
  JsonFields fields(json, where);
  fields.Required("phase", &spot.phase);
  fields.Required("op", &spot.op);
  fields.Required("label", &spot.label);
  fields.Required("count", &spot.count);
  FG_RETURN_IF_ERROR(fields.Finish());
  bundle->blind_spots.push_back(std::move(spot));
  return Status::Ok();
}

void ReadHashes(JsonFields* top, BundleHashes* hashes) {
  const Json* json = top->RequiredObject("hashes");
  if (json == nullptr) return;
  JsonFields fields(*json, "hashes");
  fields.Required("engine", &hashes->engine);
  fields.Required("defaults", &hashes->defaults);
  fields.Required("suite", &hashes->suite);
  fields.Required("matrix", &hashes->matrix);
  fields.Required("recipe", &hashes->recipe);
  top->Adopt(fields.Finish());
}

void ReadSnapshot(JsonFields* top, SnapshotRecord* snapshot) {
  const Json* json = top->RequiredObject("snapshot");
  if (json == nullptr) return;
  JsonFields fields(*json, "snapshot");
  fields.Required("engine", &snapshot->engine);
  fields.Required("defaults", &snapshot->defaults);
  fields.Required("commit", &snapshot->commit);
  fields.Required("program_sha256", &snapshot->program_sha256);
  fields.Required("absent", &snapshot->absent);
  top->Adopt(fields.Finish());
}

void ReadHeader(JsonFields* fields, BundleHeader* header) {
  fields->Required("subject", &header->subject);
  fields->Required("hardware_class", &header->hardware_class);
  if (const Json* device = fields->RequiredObject("device")) header->device = *device;
  if (const Json* build = fields->RequiredObject("build")) header->build = *build;
  if (const Json* gates = fields->RequiredArray("gates")) header->gates = *gates;
  if (const Json* models = fields->RequiredObject("models")) header->models = *models;
  ReadHashes(fields, &header->hashes);
  ReadSnapshot(fields, &header->snapshot);
  fields->Required("started", &header->started);
  fields->Required("fault", &header->fault);
  fields->Required("selection", &header->selection);
  fields->Required("jobs", &header->jobs);
  const Json* variables = fields->RequiredObject("variables");
  if (variables == nullptr) return;
  for (const auto& [name, value] : variables->items()) {
    if (!value.is_string()) return fields->Mistake("variables." + name, "must be a string");
    header->variables[name] = value.get<std::string>();
  }
}

}  // namespace

Json BundleToJson(const Bundle& bundle) {
  Json json = JudgementToJson(bundle.Verdict());
  json["schema"] = kBundleSchema;
  json["complete"] = bundle.complete;
  HeaderToJson(bundle.header, &json);
  json["seconds"] = bundle.seconds;
  json["counts"] = bundle.Counts();
  json["rows"] = bundle.rows;
  for (const std::string& row : bundle.rows)
    json["gate_verdicts"][row] = JudgementToJson(bundle.GateVerdict(row));
  json["cells"] = Json::array();
  for (const BundleCell& cell : bundle.cells)
    json["cells"].push_back(CellToJson(cell, bundle.Waived(cell)));
  json["pending"] = Json::array();
  for (const CellId& id : bundle.pending) json["pending"].push_back(id.Text());
  json["pairs"] = PairsToJson(bundle.pairs);
  json["waivers"] = WaiversToJson(bundle);
  json["blind_spots"] = Json::array();
  for (const BlindSpot& spot : bundle.blind_spots) {
    json["blind_spots"].push_back(
        {{"phase", spot.phase}, {"op", spot.op}, {"label", spot.label}, {"count", spot.count}});
  }
  json["content_sha256"] = ContentSum(json);
  return json;
}

std::string ContentSum(const Json& json) {
  Json content = json;
  content.erase("content_sha256");
  return fg::Sha256Hex(
      std::string_view(content.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

Result<Bundle> BundleFromJson(const Json& json) {
  JsonFields fields(json, "bundle");
  int64_t schema = 0;
  fields.Required("schema", &schema);
  if (fields.ok() && schema != kBundleSchema) {
    fields.Mistake("schema", fmt::format("this program reads version {} of the bundle, not {}",
                                         kBundleSchema, schema));
  }
  if (!fields.ok()) return fields.Finish();
  Bundle bundle;
  fields.Required("complete", &bundle.complete);
  ReadHeader(&fields, &bundle.header);
  fields.Required("seconds", &bundle.seconds);
  fields.Required("rows", &bundle.rows);
  for (const char* derived : {"verdict", "content_sha256"}) {
    std::string text;
    fields.Required(derived, &text);
  }
  std::vector<std::string> texts;
  fields.Required("reasons", &texts);
  fields.RequiredObject("counts");
  fields.RequiredObject("gate_verdicts");
  ForEach(&fields, "cells", [&](const Json& item, const std::string& place) {
    return ReadCell(item, place, &bundle);
  });
  fields.Required("pending", &texts);
  if (fields.ok()) {
    for (const std::string& text : texts) {
      FG_ASSIGN_OR_RETURN(CellId id, ParseCellId(text));
      bundle.pending.push_back(std::move(id));
    }
  }
  ForEach(&fields, "pairs", [&](const Json& item, const std::string& place) {
    return ReadPair(item, place, &bundle);
  });
  ForEach(&fields, "waivers", [&](const Json& item, const std::string& place) {
    return ReadWaiver(item, place, &bundle);
  });
  ForEach(&fields, "blind_spots", [&](const Json& item, const std::string& place) {
    return ReadBlindSpot(item, place, &bundle);
  });
  FG_RETURN_IF_ERROR(fields.Finish());
  return bundle;
}

Result<Bundle> LoadBundle(const std::string& path) {
  const std::string file = std::filesystem::is_directory(path) ? path + "/bundle.json" : path;
  FG_ASSIGN_OR_RETURN(const std::string text, ReadHostileFile(file, kMostIndexBytes));
  FG_ASSIGN_OR_RETURN(const Json json, fg::ParseJson(text, file));
  auto bundle = BundleFromJson(json);
  if (!bundle.ok()) return bundle.status().WithContext(file);
  return bundle;
}

}  // namespace flipgate
