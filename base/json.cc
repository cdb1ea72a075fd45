#include "base/json.h"

#include <algorithm>
#include <cmath>

#include "base/nearest.h"

namespace fg {
namespace {

constexpr int kDeepest = 100;

// Line and column (one-based, in bytes) of an offset.
std::string Place(std::string_view text, size_t offset) {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < std::min(offset, text.size()); ++i) {
    column = text[i] == '\n' ? 1 : column + 1;
    line += text[i] == '\n';
  }
  return std::to_string(line) + ":" + std::to_string(column);
}

// nlohmann's parser keeps the last of two equal members and recurses without a limit of ours; this
// handler builds the tree and refuses both.
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  Json root;
  std::string message;
  size_t offset = 0;  // of the parser's own complaint
  bool syntax = false;

  bool null() override { return Put(nullptr) != nullptr; }
  bool boolean(bool value) override { return Put(value) != nullptr; }
  bool number_integer(int64_t value) override { return Put(value) != nullptr; }
  bool number_unsigned(uint64_t value) override { return Put(value) != nullptr; }
  bool number_float(double value, const std::string&) override { return Put(value) != nullptr; }
  bool string(std::string& value) override { return Put(std::move(value)) != nullptr; }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(Json::object()); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(std::string& name) override {
    if (stack_.back()->contains(name)) {
      message = "the member '" + name + "' stands twice in one object";
      return false;
    }
    key_ = name;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const Json::exception& error) override {
    syntax = true;
    offset = position > 0 ? position - 1 : 0;
    message = error.what();
    const size_t detail = message.find("syntax error");  // without the library's own place
    if (detail != std::string::npos) message = message.substr(detail);
    return false;
  }

 private:
  Json* Put(Json value) {
    if (stack_.empty()) {
      root = std::move(value);
      return &root;
    }
    Json& parent = *stack_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }

  bool Open(Json value) {
    if (stack_.size() >= kDeepest) {
      message = "nested deeper than " + std::to_string(kDeepest);
      return false;
    }
    stack_.push_back(Put(std::move(value)));
    return true;
  }

  bool Close() {
    stack_.pop_back();
    return true;
  }

  std::vector<Json*> stack_;  // a parent does not move while its child is open
  std::string key_;
};

}  // namespace

Result<Json> ParseJson(std::string_view text, const std::string& name) {
  StrictBuilder builder;
  if (Json::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root);
  const std::string place = builder.syntax ? ":" + Place(text, builder.offset) : "";
  return Status(ErrorKind::kUsage, name + place + ": " + builder.message);
}

const char* JsonTypeName(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return "a string";
  if (value.is_boolean()) return "true or false";
  if (value.is_number_integer()) return "a whole number";
  if (value.is_number()) return "a number";
  return "null";
}

JsonFields::JsonFields(const Json& value, std::string where) : where_(std::move(where)) {
  if (value.is_object()) {
    object_ = &value;
  } else {
    status_ = Status(ErrorKind::kUsage, where_ + ": must be an object, is " + JsonTypeName(value));
  }
}

void JsonFields::Mistake(const std::string& name, const std::string& message) {
  if (status_.ok()) status_ = Status(ErrorKind::kUsage, where_ + "." + name + ": " + message);
}

bool JsonFields::Has(const char* name) const {
  return object_ != nullptr && object_->contains(name);
}

const Json* JsonFields::Optional(const char* name) {
  asked_.push_back(name);
  return Has(name) ? &(*object_)[name] : nullptr;
}

const Json* JsonFields::Required(const char* name) {
  const Json* value = Optional(name);
  if (value == nullptr) Mistake(name, "is missing");
  return value;
}

const Json* JsonFields::Typed(const char* name, bool (*is)(const Json&), const char* wanted) {
  const Json* value = Required(name);
  if (value == nullptr || is(*value)) return value;
  Mistake(name, std::string("must be ") + wanted + ", is " + JsonTypeName(*value));
  return nullptr;
}

void JsonFields::Required(const char* name, std::string* out) {
  const Json* value = Typed(
      name, [](const Json& v) { return v.is_string(); }, "a string");
  if (value != nullptr) *out = value->get<std::string>();
}

void JsonFields::Required(const char* name, bool* out) {
  const Json* value = Typed(
      name, [](const Json& v) { return v.is_boolean(); }, "true or false");
  if (value != nullptr) *out = value->get<bool>();
}

void JsonFields::Required(const char* name, int64_t* out) {
  const auto whole = [](const Json& v) {
    return v.is_number_integer() && (!v.is_number_unsigned() || v.get<uint64_t>() <= INT64_MAX);
  };
  const Json* value = Typed(name, whole, "a whole number of 64 bits");
  if (value != nullptr) *out = value->get<int64_t>();
}

void JsonFields::Required(const char* name, double* out) {
  const auto finite = [](const Json& v) { return v.is_number() && std::isfinite(v.get<double>()); };
  const Json* value = Typed(name, finite, "a finite number");
  if (value != nullptr) *out = value->get<double>();
}

void JsonFields::Required(const char* name, std::vector<std::string>* out) {
  const Json* value = RequiredArray(name);
  if (value == nullptr) return;
  out->clear();
  for (const Json& item : *value) {
    if (!item.is_string()) {
      return Mistake(std::string(name) + "[" + std::to_string(out->size()) + "]",
                     std::string("must be a string, is ") + JsonTypeName(item));
    }
    out->push_back(item.get<std::string>());
  }
}

const Json* JsonFields::RequiredObject(const char* name) {
  return Typed(
      name, [](const Json& v) { return v.is_object(); }, "an object");
}

const Json* JsonFields::RequiredArray(const char* name) {
  return Typed(
      name, [](const Json& v) { return v.is_array(); }, "an array");
}

Status JsonFields::Finish() {
  if (object_ == nullptr || !status_.ok()) return status_;
  for (const auto& [name, value] : object_->items()) {
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    return Status(ErrorKind::kUsage,
                  where_ + ": unknown member '" + name + "'" + DidYouMean(name, asked_));
  }
  return Status::Ok();
}

}  // namespace fg
