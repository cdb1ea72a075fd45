#include "gates/matrix_evidence.h"

#include <filesystem>
#include <map>

namespace flipgate {
namespace {

using fg::Json;
using fg::Result;
using Form = AgreementAspect::Form;
using Type = EvidenceField::Type;

struct KindInMatrix {
  std::vector<EvidenceField> fields;
  std::vector<AgreementAspect> aspects = {{"", Form::kBitwise}};
};

// Some of the prompts by name; left out, all of them.
const EvidenceField kOnly = {"only", Type::kNames, false};

const std::map<std::string, KindInMatrix>& Kinds() {
  static const std::map<std::string, KindInMatrix> kKinds = {
      {"parity",
       {.fields = {{"ops", Type::kPath},
                   {"pins", Type::kPath},
                   {"against", Type::kWord, false},
                   {"prompts", Type::kPath, false},
                   kOnly,
                   {"tokens", Type::kCount, false}},
        .aspects = {{"ops", Form::kEither},
                    {"logits", Form::kTolerance},
                    {"layers", Form::kTolerance, "against"}}}},
      {"greedy_contrast",
       {.fields = {{"prompts", Type::kPath}, {"tokens", Type::kCount}, {"pins", Type::kPath}}}},
      {"lattice",
       {.fields = {{"prompts", Type::kPath},
                   {"tokens", Type::kCount},
                   {"threads", Type::kCounts},
                   kOnly,
                   {"distinct_paths", Type::kModelCounts},
                   {"pins", Type::kPath}}}},
      {"quality",
       {.fields = {{"text", Type::kPath},
                   {"windows", Type::kCount},
                   {"window_bytes", Type::kCount}},
        .aspects = {{"kl", Form::kTolerance},
                    {"top1", Form::kTolerance},
                    {"perplexity", Form::kTolerance},
                    {"held", Form::kTolerance}}}},
      {"liveness", {.fields = {{"prompts", Type::kPath}, kOnly, {"tokens", Type::kCount}}}},
      {"optout",
       {.fields = {{"prompts", Type::kPath}, {"tokens", Type::kCount}, {"pins", Type::kPath}}}},
      {"decode_neutral",
       {.fields =
            {{"prompts", Type::kPath}, kOnly, {"tokens", Type::kCount}, {"pins", Type::kPath}}}},
      {"reuse_neutral",
       {.fields = {{"turn_rows", Type::kCount},
                   {"tokens", Type::kCount},
                   {"pins", Type::kPath},
                   {"eager", Type::kVariables, false},
                   {"eager_tokens", Type::kCount, false}}}},
      {"determinism",
       {.fields = {{"prompts", Type::kPath},
                   kOnly,
                   {"tokens", Type::kCount},
                   {"repeats", Type::kCount},
                   {"prefix_tokens", Type::kCount},
                   {"rows", Type::kCounts},
                   {"threads", Type::kCounts, false},
                   {"pins", Type::kPath}},
        .aspects = {{"repeats", Form::kBitwise}, {"arms", Form::kTolerance}}}},
      {"sanitizer",
       {.fields = {{"command", Type::kNames},
                   {"search", Type::kNames},
                   {"tools", Type::kNames},
                   {"prompt_tokens", Type::kCount},
                   {"tokens", Type::kCount},
                   {"variables", Type::kVariables, false},
                   {"eager", Type::kVariables}}}},
      {"mixed_quant",
       {.fields =
            {{"prompts", Type::kPath}, kOnly, {"tokens", Type::kCount}, {"pins", Type::kPath}}}},
      {"backstop",
       {.fields =
            {{"prompts", Type::kPath}, kOnly, {"tokens", Type::kCount}, {"pins", Type::kPath}},
        .aspects = {{"streams", Form::kBitwise}, {"logits", Form::kTolerance}}}},
      {"readers",
       {.fields =
            {{"prompts", Type::kPath}, kOnly, {"tokens", Type::kCount}, {"pins", Type::kPath}}}},
      {"memory_two_way",
       {.fields = {{"prompt_tokens", Type::kCount}, {"tokens", Type::kCount}},
        .aspects = {{"share", Form::kTolerance}, {"slack_mib", Form::kTolerance}}}},
  };
  return kKinds;
}

}  // namespace

std::vector<EvidenceField> FieldsOfKind(const std::string& kind) {
  const auto found = Kinds().find(kind);
  return found == Kinds().end() ? std::vector<EvidenceField>{} : found->second.fields;
}

std::vector<AgreementAspect> AspectsOfKind(const std::string& kind) {
  const auto found = Kinds().find(kind);
  if (found != Kinds().end()) return found->second.aspects;
  return {{"", Form::kEither}};
}

Result<std::string> ReadProjectPath(const YamlDocument& document, const YamlNode& node,
                                    const std::string& what) {
  FG_ASSIGN_OR_RETURN(std::string text, document.String(node, what));
  const std::filesystem::path path(text);
  bool inside = path.is_relative();
  for (const auto& part : path) inside = inside && part != "..";
  if (!inside) {
    return document.Error(node.mark,
                          what + " must be a path inside the project, is '" + text + "'");
  }
  return text;
}

Result<Json> ReadEvidenceField(const YamlDocument& document, const YamlNode& node,
                               const EvidenceField& field, const std::string& what) {
  switch (field.type) {
    case Type::kCount: {
      FG_ASSIGN_OR_RETURN(const int64_t count, document.Integer(node, what));
      if (count < 1) return document.Error(node.mark, what + " must be at least 1");
      return Json(count);
    }
    case Type::kCounts: {
      FG_ASSIGN_OR_RETURN(const std::vector<std::string> words, document.Strings(node, what));
      Json counts = Json::array();
      for (size_t i = 0; i < words.size(); ++i) {
        const EvidenceField one{field.name, Type::kCount};
        FG_ASSIGN_OR_RETURN(Json count,
                            ReadEvidenceField(document, node.items[i], one, "each of " + what));
        counts.push_back(std::move(count));
      }
      if (counts.empty()) return document.Error(node.mark, what + " must not be empty");
      return counts;
    }
    case Type::kNumber: {
      FG_ASSIGN_OR_RETURN(const double number, document.Number(node, what));
      return Json(number);
    }
    case Type::kNames: {
      FG_ASSIGN_OR_RETURN(const std::vector<std::string> names, document.Strings(node, what));
      if (names.empty()) return document.Error(node.mark, what + " must not be empty");
      return Json(names);
    }
    case Type::kWord: {
      FG_ASSIGN_OR_RETURN(std::string word, document.String(node, what));
      return Json(std::move(word));
    }
    case Type::kVariables: {
      FG_RETURN_IF_ERROR(YamlMap::Open(document, node, what).status());
      Json variables = Json::object();
      for (const YamlNode::Entry& entry : node.entries) {
        FG_ASSIGN_OR_RETURN(variables[entry.key],
                            document.String(entry.value, what + "." + entry.key));
      }
      if (variables.empty()) return document.Error(node.mark, what + " must not be empty");
      return variables;
    }
    case Type::kModelCounts: {
      FG_RETURN_IF_ERROR(YamlMap::Open(document, node, what).status());
      Json counts = Json::object();
      for (const YamlNode::Entry& entry : node.entries) {
        const EvidenceField one{field.name, Type::kCount};
        FG_ASSIGN_OR_RETURN(counts[entry.key],
                            ReadEvidenceField(document, entry.value, one, what + "." + entry.key));
      }
      return counts;
    }
    case Type::kPath: {
      FG_ASSIGN_OR_RETURN(std::string path, ReadProjectPath(document, node, what));
      return Json(std::move(path));
    }
  }
  return fg::Status(fg::ErrorKind::kInternal, "a field type without a reader");
}

}  // namespace flipgate
