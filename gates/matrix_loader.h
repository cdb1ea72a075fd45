// Builds a Matrix from its YAML; used by Matrix::Parse alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "gates/matrix.h"
#include "gates/matrix_evidence.h"
#include "gates/yaml_document.h"

namespace flipgate {

class MatrixLoader {
 public:
  MatrixLoader(const YamlDocument& document, const std::vector<std::string>& kinds)
      : document_(document), kinds_(kinds) {}

  fg::Result<Matrix> Load();

 private:
  // matrix_loader.cc
  fg::Status LoadVersion(YamlMap* map);
  fg::Status LoadClasses(const YamlNode& node);
  fg::Status LoadSubjects(const YamlNode& node);
  fg::Status LoadModels(const YamlNode& node);
  fg::Status LoadOrigin(const std::string& what, YamlMap* fields, ModelSpec* model) const;
  fg::Status LoadTolerances(const YamlNode& node);
  fg::Status LoadEvidence(const YamlNode& node);
  fg::Status LoadKind(const std::string& kind, YamlMark mark, const YamlNode& node);
  // What `map` says of models, timeout, agreement and fields into *spec, which holds what stands
  // for every class where `map` is a class's.
  fg::Status LoadMeasure(EvidenceSpec* spec, YamlMark mark, const std::string& what, YamlMap* map,
                         bool of_class);
  fg::Status LoadKindOfClass(const EvidenceSpec& spec, const YamlNode::Entry& entry);
  fg::Status CheckEachModel(const EvidenceSpec& spec, const YamlNode& node,
                            const std::string& what) const;
  fg::Status LoadAgreement(EvidenceSpec* spec, const std::string& what, YamlMark mark,
                           const YamlNode* node) const;
  fg::Status CheckTogether(const EvidenceSpec& spec, const std::string& what, YamlMark mark) const;
  fg::Status CheckName(const std::string& name, YamlMark mark, const std::string& what) const;
  fg::Result<std::string> KnownTolerance(const YamlNode& node, const std::string& what,
                                         const AgreementAspect& aspect) const;
  // A list of names, each among `known`; `noun` names them in the message.
  fg::Result<std::vector<std::string>> KnownNames(const YamlNode& node, const std::string& what,
                                                  const std::vector<std::string>& known,
                                                  const std::string& noun) const;
  fg::Status CheckClass(const std::string& name, YamlMark mark, const std::string& what) const;
  fg::Result<std::vector<std::string>> Classes(const YamlNode* node, const std::string& what) const;

  // matrix_loader_gates.cc
  fg::Status LoadGates(const YamlNode& node);
  fg::Status LoadGate(const std::string& name, const YamlNode& node);
  fg::Status LoadSettings(GateSpec* gate, const YamlNode& node);
  fg::Status LoadBudgets(GateSpec* gate, YamlMap* map);
  fg::Result<GateBudget> LoadBudget(const std::string& what, const YamlNode* claims,
                                    const YamlNode* may_cost) const;
  fg::Result<GateBudget::Cost> LoadCost(const std::string& what, const YamlNode& node) const;
  fg::Status LoadMemory(GateSpec* gate, const YamlNode& node) const;
  fg::Result<std::vector<LabelRule>> LoadRules(const std::string& what, const YamlNode* node) const;

  // matrix_loader_cells.cc
  fg::Status LoadCells(const YamlNode& node);
  fg::Status LoadRow(const std::string& kind, const YamlNode& node);
  fg::Status LoadPair(const std::string& kind, const std::string& gate, const YamlNode& node);
  fg::Status LoadPairMap(PairSpec* pair, const YamlNode& node);
  fg::Status CheckShares() const;
  std::vector<std::string> ModelsOf(const std::string& kind) const;
  fg::Status CheckMeasured(const PairSpec& pair, YamlMark mark) const;

  const YamlDocument& document_;
  const std::vector<std::string>& kinds_;
  std::vector<std::string> gate_names_;
  std::map<std::string, YamlMark> pair_marks_;  // KIND/GATE -> its place
  Matrix matrix_;
};

template <typename Spec>
std::vector<std::string> NamesOf(const std::vector<Spec>& specs) {
  std::vector<std::string> names;
  for (const Spec& spec : specs) names.push_back(spec.name);
  return names;
}

}  // namespace flipgate
