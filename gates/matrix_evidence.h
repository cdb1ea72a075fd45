// Which fields and which agreements each kind of evidence carries in the matrix. A field that a
// kind would not read is refused there.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "gates/yaml_document.h"

namespace flipgate {

struct EvidenceField {
  enum class Type {
    kCount,
    kCounts,
    kNumber,
    kPath,
    kNames,
    kWord,
    kVariables,
    kModelCounts
  };  // count: a whole number >= 1; path: from the project's root; names: a list of words;
      // variables: NAME: text; model counts: a count for each model of the kind
  std::string name;
  Type type;
  bool required = true;
};

// The fields of a kind beside models, timeout and agreement; none for a kind that this table does
// not list.
std::vector<EvidenceField> FieldsOfKind(const std::string& kind);

// What one aspect of a kind's `agreement` may be.
struct AgreementAspect {
  enum class Form { kBitwise, kTolerance, kEither };
  std::string name;  // "" where a kind's agreement is one word
  Form form = Form::kBitwise;
  std::string field = "";  // the aspect is named where this field is given, and not elsewhere
};

// The aspects that a kind's `agreement` names, each on its own.
std::vector<AgreementAspect> AspectsOfKind(const std::string& kind);

// The value of one field, typed. kUsage with place.
fg::Result<fg::Json> ReadEvidenceField(const YamlDocument& document, const YamlNode& node,
                                       const EvidenceField& field, const std::string& what);

// A path inside the project: relative, without "..". kUsage with place.
fg::Result<std::string> ReadProjectPath(const YamlDocument& document, const YamlNode& node,
                                        const std::string& what);

}  // namespace flipgate
