#include "gates/matrix.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>

#include "base/file.h"
#include "base/nearest.h"
#include "base/sha256.h"
#include "gates/matrix_loader.h"
#include "gates/yaml_document.h"

namespace flipgate {
namespace {

using fg::Json;
using fg::Result;

bool Lists(const std::vector<std::string>& classes, const std::string& hardware_class) {
  return classes.empty() ||
         std::find(classes.begin(), classes.end(), hardware_class) != classes.end();
}

template <typename Spec, typename Member>
const Spec* FindBy(const std::vector<Spec>& specs, std::string_view name, Member member) {
  for (const Spec& spec : specs) {
    if (spec.*member == name) return &spec;
  }
  return nullptr;
}

Json RulesToJson(const std::vector<LabelRule>& rules) {
  Json json = Json::object();
  for (const LabelRule& rule : rules) json[rule.pattern] = rule.formula.text();
  return json;
}

Json RulesToJson(const std::vector<MemoryRule>& rules) {
  Json json = Json::object();
  for (const MemoryRule& rule : rules) json[rule.category] = rule.formula.text();
  return json;
}

Json BudgetToJson(const GateBudget& budget) {
  Json costs = Json::object();
  for (const auto& [metric, cost] : budget.may_cost) {
    costs[metric] = {{"amount", cost.amount}, {"unit", cost.unit}, {"reason", cost.reason}};
  }
  return {{"claims", budget.claims}, {"may_cost", costs}};
}

// Of a gate that the class does not have, only what an engine is told of it there.
Json GateToJson(const GateSpec& gate, const std::string& hardware_class) {
  if (!Lists(gate.scope, hardware_class)) {
    return {{"needs", gate.needs}, {"set", gate.set}, {"bits", gate.same_bits ? "same" : "other"}};
  }
  return {{"needs", gate.needs},
          {"set", gate.set},
          {"bits", gate.same_bits ? "same" : "other"},
          {"shadowed_by", gate.shadowed_by},
          {"budget", BudgetToJson(gate.Budget(hardware_class))},
          {"live", RulesToJson(gate.live)},
          {"dead", RulesToJson(gate.dead)},
          {"back", RulesToJson(gate.back)},
          {"memory_on", RulesToJson(gate.memory_on)},
          {"memory_off", RulesToJson(gate.memory_off)}};
}

}  // namespace

const GateBudget& GateSpec::Budget(const std::string& hardware_class) const {
  const auto own = budget_of.find(hardware_class);
  return own == budget_of.end() ? budget : own->second;
}

bool ModelSpec::InScope(const std::string& hardware_class) const {
  return Lists(classes, hardware_class);
}

std::string ModelSpec::Source() const {
  return synthetic() ? "shape " + shape + ", seed " + std::to_string(seed) : from;
}

int64_t EvidenceSpec::Integer(const char* field) const { return fields.at(field).get<int64_t>(); }
std::string EvidenceSpec::Text(const char* field) const {
  return fields.at(field).get<std::string>();
}

Result<Matrix> Matrix::Parse(std::string text, std::string file_name,
                             const std::vector<std::string>& kinds) {
  FG_ASSIGN_OR_RETURN(const YamlDocument document,
                      YamlDocument::Parse(std::move(text), std::move(file_name)));
  return MatrixLoader(document, kinds).Load();
}

Result<Matrix> Matrix::Load(const std::string& path, std::string file_name,
                            const std::vector<std::string>& kinds) {
  FG_ASSIGN_OR_RETURN(std::string text, fg::ReadFile(path));
  return Parse(std::move(text), std::move(file_name), kinds);
}

const ModelSpec* Matrix::FindModel(std::string_view name) const {
  return FindBy(models_, name, &ModelSpec::name);
}
const GateSpec* Matrix::FindGate(std::string_view name) const {
  return FindBy(gates_, name, &GateSpec::name);
}
const EvidenceSpec* Matrix::FindEvidence(std::string_view kind) const {
  return FindBy(evidence_, kind, &EvidenceSpec::kind);
}
const Tolerance* Matrix::FindTolerance(std::string_view name) const {
  return FindBy(tolerances_, name, &Tolerance::name);
}

const PairSpec* Matrix::FindPair(std::string_view kind, std::string_view gate) const {
  for (const PairSpec& pair : pairs_) {
    if (pair.kind == kind && pair.gate == gate) return &pair;
  }
  return nullptr;
}

const EvidenceSpec* Matrix::FindEvidence(std::string_view kind,
                                         const std::string& hardware_class) const {
  if (const auto of_kind = evidence_of_.find(kind); of_kind != evidence_of_.end()) {
    const auto own = of_kind->second.find(hardware_class);
    if (own != of_kind->second.end()) return &own->second;
  }
  return FindEvidence(kind);
}

Result<ClassSpec> Matrix::Class(const std::string& hardware_class) const {
  if (classes_.empty()) {
    ClassSpec any;
    any.name = hardware_class;
    return any;
  }
  if (const ClassSpec* declared = FindBy(classes_, hardware_class, &ClassSpec::name))
    return *declared;
  std::vector<std::string> names;
  for (const ClassSpec& declared : classes_) names.push_back(declared.name);
  return fg::Status(
      fg::ErrorKind::kUsage,
      fmt::format("the matrix declares no class '{}'{}; its classes are {}", hardware_class,
                  fg::DidYouMean(hardware_class, names), fmt::join(names, ", ")));
}

std::vector<std::string> Matrix::Rows() const {
  std::vector<std::string> rows = {kDefaultRow};
  for (const GateSpec& gate : gates_) rows.push_back(gate.name);
  return rows;
}

std::vector<std::string> Matrix::Rows(const std::string& hardware_class) const {
  std::vector<std::string> rows = Rows();
  std::erase_if(rows, [&](const std::string& row) { return !GateInScope(row, hardware_class); });
  return rows;
}

bool Matrix::GateInScope(std::string_view gate, const std::string& hardware_class) const {
  const GateSpec* spec = FindGate(gate);
  return spec == nullptr || Lists(spec->scope, hardware_class);
}

bool Matrix::KindInScope(std::string_view kind, const std::string& hardware_class) const {
  const EvidenceSpec* spec = FindEvidence(kind);
  return spec == nullptr || Lists(spec->scope, hardware_class);
}

bool Matrix::InScope(const PairSpec& pair, const std::string& hardware_class) const {
  return GateInScope(pair.gate, hardware_class) && KindInScope(pair.kind, hardware_class) &&
         Lists(pair.classes, hardware_class);
}

std::vector<std::string> Matrix::Models(const PairSpec& pair,
                                        const std::string& hardware_class) const {
  if (pair.status != PairSpec::Status::kRequired || !InScope(pair, hardware_class)) return {};
  std::vector<std::string> models =
      pair.models.empty() ? FindEvidence(pair.kind, hardware_class)->models : pair.models;
  std::erase_if(
      models, [&](const std::string& model) { return !FindModel(model)->InScope(hardware_class); });
  return models;
}

std::vector<CellId> Matrix::Cells(const std::string& hardware_class) const {
  std::vector<CellId> cells;
  for (const PairSpec& pair : pairs_) {
    for (const std::string& model : Models(pair, hardware_class))
      cells.push_back({pair.kind, pair.gate, model});
  }
  return cells;
}

Result<Json> Matrix::Canonical(const std::string& hardware_class, const BlobId& blob_id) const {
  Json json = {{"version", 1}, {"hardware_class", hardware_class}};
  FG_ASSIGN_OR_RETURN(const ClassSpec of_class, Class(hardware_class));
  json["class"] = {{"probe", of_class.probe},
                   {"device", of_class.device},
                   {"cells", of_class.cells},
                   {"engines", of_class.engines}};
  for (const SubjectSpec& subject : subjects_) json["subjects"][subject.name] = subject.command;
  for (const ModelSpec& model : models_) {
    if (!model.InScope(hardware_class)) continue;
    std::string source = model.Source();
    if (!model.synthetic()) {
      FG_ASSIGN_OR_RETURN(source, blob_id(model.from));
    }
    json["models"][model.name] = {
        {"source", source}, {"quantize", model.quantize}, {"sha256", model.sha256}};
    if (!model.no_pins.empty()) json["models"][model.name]["no_pins"] = model.no_pins;
  }
  for (const Tolerance& tolerance : tolerances_) {
    json["tolerances"][tolerance.name] = {{"value", tolerance.value}, {"cause", tolerance.cause}};
  }
  for (const GateSpec& gate : gates_) json["gates"][gate.name] = GateToJson(gate, hardware_class);
  for (const EvidenceSpec& everywhere : evidence_) {
    if (!KindInScope(everywhere.kind, hardware_class)) continue;
    const EvidenceSpec& evidence = *FindEvidence(everywhere.kind, hardware_class);
    json["evidence"][evidence.kind] = {{"timeout_ms", evidence.timeout_ms},
                                       {"agreement", evidence.agreement},
                                       {"fields", evidence.fields}};
  }
  for (const PairSpec& pair : pairs_) {
    if (!GateInScope(pair.gate, hardware_class) || !KindInScope(pair.kind, hardware_class))
      continue;
    Json& entry = json["pairs"][pair.kind][pair.gate];
    if (pair.status == PairSpec::Status::kShared) entry = {{"shared_with", pair.shared_with}};
    if (pair.status == PairSpec::Status::kNotApplicable) entry = {{"not_applicable", pair.reason}};
    if (pair.status == PairSpec::Status::kRequired) entry = {{"required", Json::array()}};
  }
  for (const CellId& cell : Cells(hardware_class)) {
    json["pairs"][cell.kind][cell.gate]["required"].push_back(cell.model);
  }
  return json;
}

Result<std::string> Matrix::Hash(const std::string& hardware_class, const BlobId& blob_id) const {
  FG_ASSIGN_OR_RETURN(const Json canonical, Canonical(hardware_class, blob_id));
  return fg::Sha256Hex(canonical.dump());
}

Result<std::string> GitBlobId(const std::string& path) {
  FG_ASSIGN_OR_RETURN(const std::string bytes, fg::ReadFile(path));
  const std::string head = "blob " + std::to_string(bytes.size()) + '\0';
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  const bool done = context != nullptr && EVP_DigestInit_ex(context, EVP_sha1(), nullptr) == 1 &&
                    EVP_DigestUpdate(context, head.data(), head.size()) == 1 &&
                    EVP_DigestUpdate(context, bytes.data(), bytes.size()) == 1 &&
                    EVP_DigestFinal_ex(context, digest, &size) == 1;
  EVP_MD_CTX_free(context);
  if (!done) return fg::Status(fg::ErrorKind::kInternal, "libcrypto cannot compute sha1");
  static const char* const kDigits = "0123456789abcdef";
  std::string id;
  for (unsigned int i = 0; i < size; ++i) {
    id += kDigits[digest[i] >> 4];
    id += kDigits[digest[i] & 15];
  }
  return id;
}

}  // namespace flipgate
