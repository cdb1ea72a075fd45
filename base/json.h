// JSON read strictly: duplicate members, unknown members and wrong types are refused by name.
// Writing is nlohmann's: members sorted, so dump() is canonical.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fg {

using Json = nlohmann::json;

// One JSON value and nothing after it. kUsage "NAME:LINE:COLUMN: message"; duplicate members,
// invalid UTF-8 and nesting deeper than 100 are refused.
Result<Json> ParseJson(std::string_view text, const std::string& name);

// "an object", "a string", "a whole number", ...: for messages.
const char* JsonTypeName(const Json& value);

// Reads the members of one object; the first mistake is kept and every later call does nothing.
//   JsonFields fields(value, "cells[3]");
//   std::string kind; fields.Required("kind", &kind);
//   FG_RETURN_IF_ERROR(fields.Finish());
class JsonFields {
 public:
  // `where` is put before every message ("cells[3].kind: must be a string, is a number").
  JsonFields(const Json& value, std::string where);

  void Required(const char* name, std::string* out);
  void Required(const char* name, bool* out);
  void Required(const char* name, int64_t* out);
  void Required(const char* name, double* out);  // finite
  void Required(const char* name, std::vector<std::string>* out);
  // Any value; nullptr when it is missing (which is a mistake).
  const Json* Required(const char* name);
  const Json* RequiredObject(const char* name);
  const Json* RequiredArray(const char* name);
  // nullptr when it is missing, which is none.
  const Json* Optional(const char* name);
  template <typename T>
  void Optional(const char* name, T* out) {
    if (Optional(name) != nullptr) Required(name, out);
  }
  bool Has(const char* name) const;
  // Records a mistake of the caller's own finding: "WHERE.NAME: message".
  void Mistake(const std::string& name, const std::string& message);

  // Takes over a mistake found while reading what lies below.
  void Adopt(const Status& status) {
    if (status_.ok()) status_ = status;
  }

  const std::string& where() const { return where_; }
  bool ok() const { return status_.ok(); }
  // Refuses members that no call asked for, with the nearest known name; then the first mistake or
  // Ok.
  Status Finish();

 private:
  const Json* Typed(const char* name, bool (*is)(const Json&), const char* wanted);

  const Json* object_ = nullptr;
  std::string where_;
  std::vector<std::string> asked_;
  Status status_;
};

}  // namespace fg
