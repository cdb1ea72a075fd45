// Expected failures as values: a category and a sentence, with context added on the way up.
// Assertions are for our own mistakes; everything that input or machine can cause comes as Status.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace fg {

enum class ErrorKind {
  kOk,
  kUsage,        // a command line or configuration that cannot be meant
  kBadRequest,   // a probe request that is malformed
  kBadModel,     // a model file that is damaged or not supported
  kRefused,      // a broken promise inside the engine, or a policy that says no
  kOutOfMemory,  // names what did not fit
  kDevice,       // final: the engine runs nothing more
  kIo,           // the file system or a child process
  kInternal,     // our own mistake
};

// The word used in JSON: "ok", "usage", "bad_request", "bad_model", "refused", "out_of_memory",
// "device", "io", "internal".
const char* ErrorKindName(ErrorKind kind);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  static Status Ok() { return {}; }

  bool ok() const { return kind_ == ErrorKind::kOk; }
  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }

  // "CONTEXT: message", same kind. Ok stays Ok.
  Status WithContext(const std::string& context) const {
    return ok() ? *this : Status(kind_, context + ": " + message_);
  }

 private:
  ErrorKind kind_ = ErrorKind::kOk;
  std::string message_;
};

// A value or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : data_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : data_(std::move(status)) {}  // NOLINT: implicit on purpose

  bool ok() const { return std::holds_alternative<T>(data_); }
  const Status& status() const {
    static const Status kOk;
    return ok() ? kOk : std::get<Status>(data_);
  }
  T& value() & { return std::get<T>(data_); }
  const T& value() const& { return std::get<T>(data_); }
  T&& value() && { return std::get<T>(std::move(data_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> data_;
};

}  // namespace fg

// Returns the Status of EXPR from the enclosing function when it is not ok.
#define FG_RETURN_IF_ERROR(expr)             \
  do {                                       \
    ::fg::Status fg_status_ = (expr);        \
    if (!fg_status_.ok()) return fg_status_; \
  } while (0)

#define FG_CONCAT_INNER_(a, b) a##b
#define FG_CONCAT_(a, b) FG_CONCAT_INNER_(a, b)
// FG_ASSIGN_OR_RETURN(auto x, F()): x = the value, or returns the Status.
#define FG_ASSIGN_OR_RETURN(lhs, expr) \
  FG_ASSIGN_OR_RETURN_(FG_CONCAT_(fg_result_, __LINE__), lhs, expr)
#define FG_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                         \
  if (!tmp.ok()) return tmp.status();        \
  lhs = std::move(tmp).value()
