#include "gates/matrix_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/nearest.h"
#include "gates/matrix_evidence.h"

namespace flipgate {

using fg::DidYouMean;
using fg::Result;
using fg::Status;

Result<Matrix> MatrixLoader::Load() {
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, document_.root(), "the matrix"));
  FG_RETURN_IF_ERROR(LoadVersion(&map));
  const YamlNode* classes = map.Optional("classes");
  const YamlNode* subjects = map.Optional("subjects");
  const YamlNode* tolerances = map.Optional("tolerances");
  FG_ASSIGN_OR_RETURN(const YamlNode* models, map.Required("models"));
  FG_ASSIGN_OR_RETURN(const YamlNode* gates, map.Required("gates"));
  FG_ASSIGN_OR_RETURN(const YamlNode* evidence, map.Required("evidence"));
  FG_ASSIGN_OR_RETURN(const YamlNode* cells, map.Required("cells"));
  FG_RETURN_IF_ERROR(map.Finish());
  if (classes != nullptr) FG_RETURN_IF_ERROR(LoadClasses(*classes));
  if (subjects != nullptr) FG_RETURN_IF_ERROR(LoadSubjects(*subjects));
  FG_RETURN_IF_ERROR(LoadModels(*models));
  if (tolerances != nullptr) FG_RETURN_IF_ERROR(LoadTolerances(*tolerances));
  FG_RETURN_IF_ERROR(LoadGates(*gates));
  FG_RETURN_IF_ERROR(LoadEvidence(*evidence));
  FG_RETURN_IF_ERROR(LoadCells(*cells));
  FG_RETURN_IF_ERROR(CheckShares());
  return std::move(matrix_);
}

Status MatrixLoader::LoadVersion(YamlMap* map) {
  FG_ASSIGN_OR_RETURN(const YamlNode* node, map->Required("version"));
  FG_ASSIGN_OR_RETURN(const int64_t version, document_.Integer(*node, "version"));
  if (version == 1) return Status::Ok();
  return document_.Error(
      node->mark, fmt::format("this program reads version 1 of the matrix, not {}", version));
}

// Names stand in cell ids, file names and test names.
Status MatrixLoader::CheckName(const std::string& name, YamlMark mark,
                               const std::string& what) const {
  const bool fits = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  });
  if (name == kDefaultRow) {
    return document_.Error(mark,
                           fmt::format("'default' is a reserved row and no name of a {}", what));
  }
  if (fits && name.size() <= 64 && name != "." && name != "..") return Status::Ok();
  return document_.Error(
      mark, fmt::format("'{}' is no name of a {}: letters, digits, '_', '-' and '.', at most 64",
                        name, what));
}

Status MatrixLoader::LoadClasses(const YamlNode& node) {
  FG_RETURN_IF_ERROR(YamlMap::Open(document_, node, "classes").status());
  for (const YamlNode::Entry& entry : node.entries) {
    FG_RETURN_IF_ERROR(CheckName(entry.key, entry.mark, "hardware class"));
    const std::string what = "classes." + entry.key;
    FG_ASSIGN_OR_RETURN(YamlMap fields, YamlMap::Open(document_, entry.value, what));
    ClassSpec spec;
    spec.name = entry.key;
    FG_ASSIGN_OR_RETURN(const YamlNode* probe, fields.Required("probe"));
    const YamlNode* device = fields.Optional("device");
    FG_ASSIGN_OR_RETURN(spec.probe, document_.Strings(*probe, what + ".probe"));
    if (spec.probe.empty()) return document_.Error(probe->mark, what + ".probe must not be empty");
    if (device != nullptr) {
      FG_ASSIGN_OR_RETURN(spec.device, document_.String(*device, what + ".device"));
    }
    for (const auto& [key, value] : {std::pair{"cells", &spec.cells}, {"engines", &spec.engines}}) {
      const YamlNode* count = fields.Optional(key);
      if (count == nullptr) continue;
      const std::string of = what + "." + key;
      FG_ASSIGN_OR_RETURN(*value, document_.Integer(*count, of));
      if (*value < 1) return document_.Error(count->mark, of + " must be at least 1");
    }
    FG_RETURN_IF_ERROR(fields.Finish());
    matrix_.classes_.push_back(std::move(spec));
  }
  if (matrix_.classes_.empty()) return document_.Error(node.mark, "classes holds none");
  return Status::Ok();
}

Status MatrixLoader::LoadSubjects(const YamlNode& node) {
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, "subjects"));
  for (const YamlNode::Entry& entry : node.entries) {
    FG_RETURN_IF_ERROR(CheckName(entry.key, entry.mark, "subject"));
    const std::string what = "subjects." + entry.key;
    FG_ASSIGN_OR_RETURN(YamlMap fields, YamlMap::Open(document_, entry.value, what));
    FG_ASSIGN_OR_RETURN(const YamlNode* command, fields.Required("command"));
    FG_RETURN_IF_ERROR(fields.Finish());
    if (command->kind != YamlNode::Kind::kSequence || command->items.empty()) {
      return document_.Error(command->mark,
                             what + ".command must be a list: a program and its arguments");
    }
    SubjectSpec subject{.name = entry.key, .command = {}};
    for (const YamlNode& word : command->items) {
      FG_ASSIGN_OR_RETURN(std::string text, document_.String(word, "each of " + what + ".command"));
      subject.command.push_back(std::move(text));
    }
    matrix_.subjects_.push_back(std::move(subject));
  }
  return Status::Ok();
}

Status MatrixLoader::LoadModels(const YamlNode& node) {
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, "models"));
  for (const YamlNode::Entry& entry : node.entries) {
    FG_RETURN_IF_ERROR(CheckName(entry.key, entry.mark, "model"));
    const std::string what = "models." + entry.key;
    FG_ASSIGN_OR_RETURN(YamlMap fields, YamlMap::Open(document_, entry.value, what));
    ModelSpec model;
    model.name = entry.key;
    FG_RETURN_IF_ERROR(LoadOrigin(what, &fields, &model));
    FG_ASSIGN_OR_RETURN(const YamlNode* sum, fields.Required("sha256"));
    const YamlNode* no_pins = fields.Optional("no_pins");
    const YamlNode* classes = fields.Optional("classes");
    FG_RETURN_IF_ERROR(fields.Finish());
    if (no_pins != nullptr) {
      FG_ASSIGN_OR_RETURN(model.no_pins, document_.String(*no_pins, what + ".no_pins"));
    }
    FG_ASSIGN_OR_RETURN(model.sha256, document_.Sha256(*sum, what + ".sha256"));
    FG_ASSIGN_OR_RETURN(model.classes, Classes(classes, what + ".classes"));
    matrix_.models_.push_back(std::move(model));
  }
  if (matrix_.models_.empty()) return document_.Error(node.mark, "models holds none");
  return Status::Ok();
}

// A file of the project and a mix, or a shape of random weights and a mix.
Status MatrixLoader::LoadOrigin(const std::string& what, YamlMap* fields, ModelSpec* model) const {
  const YamlNode* synth = fields->Optional("synth");
  if (synth == nullptr) {
    FG_ASSIGN_OR_RETURN(const YamlNode* from, fields->Required("from"));
    FG_ASSIGN_OR_RETURN(const YamlNode* quantize, fields->Required("quantize"));
    FG_ASSIGN_OR_RETURN(model->from, ReadProjectPath(document_, *from, what + ".from"));
    FG_ASSIGN_OR_RETURN(model->quantize, document_.String(*quantize, what + ".quantize"));
    return CheckName(model->quantize, quantize->mark, "mix");
  }
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, *synth, what + ".synth"));
  FG_ASSIGN_OR_RETURN(const YamlNode* shape, map.Required("shape"));
  FG_ASSIGN_OR_RETURN(const YamlNode* mix, map.Required("mix"));
  FG_ASSIGN_OR_RETURN(const YamlNode* seed, map.Required("seed"));
  FG_RETURN_IF_ERROR(map.Finish());
  FG_ASSIGN_OR_RETURN(model->shape, document_.String(*shape, what + ".synth.shape"));
  FG_RETURN_IF_ERROR(CheckName(model->shape, shape->mark, "shape"));
  FG_ASSIGN_OR_RETURN(model->quantize, document_.String(*mix, what + ".synth.mix"));
  FG_RETURN_IF_ERROR(CheckName(model->quantize, mix->mark, "mix"));
  FG_ASSIGN_OR_RETURN(model->seed, document_.Integer(*seed, what + ".synth.seed"));
  if (model->seed < 0)
    return document_.Error(seed->mark, what + ".synth.seed must not be negative");
  return Status::Ok();
}

Status MatrixLoader::LoadTolerances(const YamlNode& node) {
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, "tolerances"));
  for (const YamlNode::Entry& entry : node.entries) {
    FG_RETURN_IF_ERROR(CheckName(entry.key, entry.mark, "tolerance"));
    if (entry.key == kBitwise) return document_.Error(entry.mark, "'bitwise' is no tolerance");
    const std::string what = "tolerances." + entry.key;
    if (entry.value.kind == YamlNode::Kind::kScalar) {
      return document_.Error(entry.value.mark,
                             what + " must be a map of value and cause, not a bare number");
    }
    FG_ASSIGN_OR_RETURN(YamlMap fields, YamlMap::Open(document_, entry.value, what));
    FG_ASSIGN_OR_RETURN(const YamlNode* value, fields.Required("value"));
    FG_ASSIGN_OR_RETURN(const YamlNode* cause, fields.Required("cause"));
    FG_RETURN_IF_ERROR(fields.Finish());
    Tolerance tolerance;
    tolerance.name = entry.key;
    FG_ASSIGN_OR_RETURN(tolerance.value, document_.Number(*value, what + ".value"));
    if (tolerance.value < 0)
      return document_.Error(value->mark, what + ".value must not be negative");
    FG_ASSIGN_OR_RETURN(tolerance.cause, document_.String(*cause, what + ".cause"));
    matrix_.tolerances_.push_back(std::move(tolerance));
  }
  return Status::Ok();
}

Result<std::vector<std::string>> MatrixLoader::KnownNames(const YamlNode& node,
                                                          const std::string& what,
                                                          const std::vector<std::string>& known,
                                                          const std::string& noun) const {
  FG_ASSIGN_OR_RETURN(std::vector<std::string> names, document_.Strings(node, what));
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::find(known.begin(), known.end(), names[i]) != known.end()) continue;
    return document_.Error(
        node.items[i].mark,
        fmt::format("unknown {} '{}' in {}{}", noun, names[i], what, DidYouMean(names[i], known)));
  }
  return names;
}

Result<std::vector<std::string>> MatrixLoader::Classes(const YamlNode* node,
                                                       const std::string& what) const {
  if (node == nullptr) return std::vector<std::string>{};
  FG_ASSIGN_OR_RETURN(std::vector<std::string> classes, document_.Strings(*node, what));
  if (classes.empty())
    return document_.Error(node->mark, what + " must not be empty; leave it out for every class");
  for (size_t i = 0; i < classes.size(); ++i) {
    FG_RETURN_IF_ERROR(CheckName(classes[i], node->items[i].mark, "hardware class"));
    FG_RETURN_IF_ERROR(CheckClass(classes[i], node->items[i].mark, what));
  }
  return classes;
}

Status MatrixLoader::LoadEvidence(const YamlNode& node) {
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, "evidence"));
  for (const YamlNode::Entry& entry : node.entries) {
    if (std::find(kinds_.begin(), kinds_.end(), entry.key) == kinds_.end()) {
      return document_.Error(entry.mark, fmt::format("unknown kind of evidence '{}'{}", entry.key,
                                                     DidYouMean(entry.key, kinds_)));
    }
    FG_RETURN_IF_ERROR(LoadKind(entry.key, entry.mark, entry.value));
  }
  return Status::Ok();
}

// A class that the matrix names must be one that it declares, where it declares any.
Status MatrixLoader::CheckClass(const std::string& name, YamlMark mark,
                                const std::string& what) const {
  const std::vector<std::string> known = NamesOf(matrix_.classes_);
  if (known.empty() || std::find(known.begin(), known.end(), name) != known.end())
    return Status::Ok();
  return document_.Error(mark, fmt::format("unknown hardware class '{}' in {}{}", name, what,
                                           DidYouMean(name, known)));
}

Status MatrixLoader::LoadKind(const std::string& kind, YamlMark mark, const YamlNode& node) {
  const std::string what = "evidence." + kind;
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, what));
  EvidenceSpec spec;
  spec.kind = kind;
  FG_RETURN_IF_ERROR(map.Required("models").status());
  const YamlNode* scope = map.Optional("scope");
  FG_ASSIGN_OR_RETURN(spec.scope, Classes(scope, what + ".scope"));
  const YamlNode* classes = map.Optional("classes");
  FG_RETURN_IF_ERROR(LoadMeasure(&spec, mark, what, &map, false));
  matrix_.evidence_.push_back(spec);
  if (classes == nullptr) return Status::Ok();
  FG_RETURN_IF_ERROR(YamlMap::Open(document_, *classes, what + ".classes").status());
  for (const YamlNode::Entry& entry : classes->entries)
    FG_RETURN_IF_ERROR(LoadKindOfClass(spec, entry));
  return Status::Ok();
}

Status MatrixLoader::LoadKindOfClass(const EvidenceSpec& spec, const YamlNode::Entry& entry) {
  const std::string what = "evidence." + spec.kind + ".classes." + entry.key;
  FG_RETURN_IF_ERROR(CheckName(entry.key, entry.mark, "hardware class"));
  FG_RETURN_IF_ERROR(CheckClass(entry.key, entry.mark, "evidence." + spec.kind + ".classes"));
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, entry.value, what));
  EvidenceSpec own = spec;
  FG_RETURN_IF_ERROR(LoadMeasure(&own, entry.mark, what, &map, true));
  matrix_.evidence_of_[spec.kind][entry.key] = std::move(own);
  return Status::Ok();
}

Status MatrixLoader::LoadMeasure(EvidenceSpec* spec, YamlMark mark, const std::string& what,
                                 YamlMap* map, bool of_class) {
  if (const YamlNode* models = map->Optional("models")) {
    FG_ASSIGN_OR_RETURN(spec->models,
                        KnownNames(*models, what + ".models", NamesOf(matrix_.models_), "model"));
    if (spec->models.empty()) return document_.Error(models->mark, what + ".models holds none");
  }
  if (const YamlNode* timeout = map->Optional("timeout")) {
    FG_ASSIGN_OR_RETURN(spec->timeout_ms, document_.Milliseconds(*timeout, what + ".timeout"));
  }
  const YamlNode* agreement = map->Optional("agreement");
  for (const EvidenceField& field : FieldsOfKind(spec->kind)) {
    const YamlNode* value = map->Optional(field.name);
    if (value == nullptr && field.required && !of_class) return map->Required(field.name).status();
    if (value == nullptr) continue;
    FG_ASSIGN_OR_RETURN(spec->fields[field.name],
                        ReadEvidenceField(document_, *value, field, what + "." + field.name));
    if (field.type == EvidenceField::Type::kModelCounts) {
      FG_RETURN_IF_ERROR(CheckEachModel(*spec, *value, what + "." + field.name));
    }
  }
  if (agreement != nullptr || !of_class)
    FG_RETURN_IF_ERROR(LoadAgreement(spec, what + ".agreement", mark, agreement));
  FG_RETURN_IF_ERROR(CheckTogether(*spec, what, mark));
  return map->Finish();
}

// An aspect that a field asks for stands where the field does, and nowhere else.
Status MatrixLoader::CheckTogether(const EvidenceSpec& spec, const std::string& what,
                                   YamlMark mark) const {
  for (const AgreementAspect& aspect : AspectsOfKind(spec.kind)) {
    if (aspect.field.empty()) continue;
    const bool named = spec.agreement.contains(aspect.name);
    if (named == spec.fields.contains(aspect.field)) continue;
    return document_.Error(mark, fmt::format("{0}: agreement.{1} and {2} stand together or not at "
                                             "all",
                                             what, aspect.name, aspect.field));
  }
  return Status::Ok();
}

// A map that says something of each model of its kind, and of no other.
Status MatrixLoader::CheckEachModel(const EvidenceSpec& spec, const YamlNode& node,
                                    const std::string& what) const {
  for (const YamlNode::Entry& entry : node.entries) {
    if (std::find(spec.models.begin(), spec.models.end(), entry.key) != spec.models.end()) continue;
    return document_.Error(entry.mark, fmt::format("unknown model '{}' in {}{}", entry.key, what,
                                                   DidYouMean(entry.key, spec.models)));
  }
  for (const std::string& model : spec.models) {
    const bool there = std::any_of(node.entries.begin(), node.entries.end(),
                                   [&](const YamlNode::Entry& e) { return e.key == model; });
    if (!there) return document_.Error(node.mark, what + " says nothing of " + model);
  }
  return Status::Ok();
}

Status MatrixLoader::LoadAgreement(EvidenceSpec* spec, const std::string& what, YamlMark mark,
                                   const YamlNode* node) const {
  const std::vector<AgreementAspect> aspects = AspectsOfKind(spec->kind);
  if (node == nullptr) {
    return document_.Error(mark, what + " is missing: bitwise, or the name of a tolerance");
  }
  spec->agreement.clear();
  if (aspects.size() == 1 && aspects[0].name.empty()) {
    FG_ASSIGN_OR_RETURN(spec->agreement[""], KnownTolerance(*node, what, aspects[0]));
    return Status::Ok();
  }
  if (node->kind != YamlNode::Kind::kMap) {
    return document_.Error(
        node->mark, fmt::format("{} must be a map of {}", what, fmt::join(NamesOf(aspects), ", ")));
  }
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, *node, what));
  for (const AgreementAspect& aspect : aspects) {
    const YamlNode* value = map.Optional(aspect.name);
    if (value == nullptr && !aspect.field.empty()) continue;
    if (value == nullptr) return map.Required(aspect.name).status();
    FG_ASSIGN_OR_RETURN(spec->agreement[aspect.name],
                        KnownTolerance(*value, what + "." + aspect.name, aspect));
  }
  return map.Finish();
}

Result<std::string> MatrixLoader::KnownTolerance(const YamlNode& node, const std::string& what,
                                                 const AgreementAspect& aspect) const {
  using Form = AgreementAspect::Form;
  FG_ASSIGN_OR_RETURN(std::string name, document_.String(node, what));
  if (document_.Number(node, what).ok()) {
    return document_.Error(
        node.mark, fmt::format("{} is a bare number; name a tolerance that says its cause", what));
  }
  std::vector<std::string> known = NamesOf(matrix_.tolerances_);
  known.insert(known.begin(), kBitwise);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    return document_.Error(node.mark, fmt::format("unknown tolerance '{}' in {}{}", name, what,
                                                  DidYouMean(name, known)));
  }
  if (aspect.form == Form::kBitwise && name != kBitwise) {
    return document_.Error(node.mark,
                           fmt::format("{} must be bitwise: no tolerance is applied there", what));
  }
  if (aspect.form == Form::kTolerance && name == kBitwise) {
    return document_.Error(
        node.mark,
        fmt::format("{} must name a tolerance: nothing is compared bit for bit there", what));
  }
  return name;
}

}  // namespace flipgate
