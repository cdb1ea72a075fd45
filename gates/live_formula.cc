#include "gates/live_formula.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "base/nearest.h"

namespace flipgate {

using fg::ErrorKind;
using fg::Result;
using fg::Status;

// Recursive descent into reverse Polish steps. Depth is bounded by kDeepest, for the text is a
// user's.
class FormulaParser {
 public:
  explicit FormulaParser(std::string_view text) : text_(text) {}

  Result<LiveFormula> Parse() {
    LiveFormula formula;
    formula.text_ = std::string(text_);
    SkipBlanks();
    if (Take(">=")) {
      formula.equal_ = false;
    } else if (!Take("=")) {
      Fail("a condition begins with '=' or '>='");
    }
    Sum();
    SkipBlanks();
    if (status_.ok() && at_ < text_.size()) Fail(fmt::format("unexpected '{}'", text_[at_]));
    if (!status_.ok()) return status_;
    formula.steps_ = std::move(steps_);
    return formula;
  }

 private:
  using Step = LiveFormula::Step;
  static constexpr int kDeepest = 20;

  void Fail(const std::string& message) {
    if (status_.ok()) {
      status_ = Status(ErrorKind::kUsage, fmt::format("column {}: {}", at_ + 1, message));
    }
  }

  void SkipBlanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool Take(std::string_view word) {
    SkipBlanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  void Emit(Step::Kind kind) { steps_.push_back({kind, 0, ""}); }

  void Sum() {
    Product();
    while (status_.ok()) {
      if (Take("+")) {
        Product();
        Emit(Step::Kind::kAdd);
      } else if (Take("-")) {
        Product();
        Emit(Step::Kind::kSubtract);
      } else {
        return;
      }
    }
  }

  void Product() {
    Operand();
    while (status_.ok()) {
      if (Take("*")) {
        Operand();
        Emit(Step::Kind::kMultiply);
      } else if (Take("/")) {
        Operand();
        Emit(Step::Kind::kDivide);
      } else {
        return;
      }
    }
  }

  void Operand() {
    if (!status_.ok()) return;
    SkipBlanks();
    if (depth_ == kDeepest && text_.substr(at_).starts_with('('))
      return Fail("parentheses too deep");
    if (Take("(")) {
      ++depth_;
      Sum();
      --depth_;
      if (status_.ok() && !Take(")")) Fail("a ')' is missing");
      return;
    }
    if (at_ >= text_.size()) return Fail("the formula ends where a value is due");
    const char c = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(c))) return Number();
    if (std::isalpha(static_cast<unsigned char>(c))) return Name();
    Fail(fmt::format("unexpected '{}' where a value is due", c));
  }

  std::string_view Word() const {
    size_t end = at_;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_')) {
      ++end;
    }
    return text_.substr(at_, end - at_);
  }

  void Number() {
    const std::string_view word = Word();
    int64_t number = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
    if (read.ec != std::errc() || read.ptr != word.data() + word.size()) {
      return Fail(fmt::format("'{}' is no whole number in plain digits", word));
    }
    at_ += word.size();
    steps_.push_back({Step::Kind::kNumber, number, ""});
  }

  void Name() {
    const std::string_view word = Word();
    for (const auto& [name, kind] : {std::pair{"prefills", Step::Kind::kPrefills},
                                     {"layers", Step::Kind::kLayers},
                                     {"skip_write", Step::Kind::kSkipWrite}}) {
      if (word != name) continue;
      at_ += word.size();
      return Emit(kind);
    }
    if (word != "w16" && word != "v16") {
      return Fail(
          fmt::format("unknown name '{}'{}", word,
                      fg::DidYouMean(word, {"w16", "v16", "prefills", "layers", "skip_write"})));
    }
    at_ += word.size();
    if (!Take("(")) return Fail(fmt::format("{0} takes a type, as in {0}(q4_K)", word));
    SkipBlanks();
    const std::string type(Word());
    if (type.empty()) return Fail(fmt::format("{0} takes a type, as in {0}(q4_K)", word));
    at_ += type.size();
    if (!Take(")")) return Fail("a ')' is missing");
    steps_.push_back({word == "w16" ? Step::Kind::kW16 : Step::Kind::kV16, 0, type});
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  std::vector<Step> steps_;
  Status status_;
};

Result<LiveFormula> LiveFormula::Parse(std::string_view text) {
  return FormulaParser(text).Parse();
}

Result<int64_t> LiveFormula::Value(const FormulaValues& values) const {
  std::vector<int64_t> stack;
  for (const Step& step : steps_) {
    int64_t result = 0;
    bool overflow = false;
    const auto combine = [&](auto operation) {
      const int64_t right = stack.back();
      stack.pop_back();
      overflow = operation(stack.back(), right, &result);
      stack.pop_back();
    };
    switch (step.kind) {
      case Step::Kind::kNumber:
        result = step.number;
        break;
      case Step::Kind::kW16:
      case Step::Kind::kV16: {
        const auto& per_type = step.kind == Step::Kind::kW16 ? values.w16 : values.v16;
        const auto found = per_type.find(step.type);
        result = found == per_type.end() ? 0 : found->second;
        break;
      }
      case Step::Kind::kPrefills:
        result = values.prefills;
        break;
      case Step::Kind::kLayers:
        result = values.layers;
        break;
      case Step::Kind::kSkipWrite:
        result = values.skip_write;
        break;
      case Step::Kind::kAdd:
        combine([](int64_t a, int64_t b, int64_t* r) { return __builtin_add_overflow(a, b, r); });
        break;
      case Step::Kind::kSubtract:
        combine([](int64_t a, int64_t b, int64_t* r) { return __builtin_sub_overflow(a, b, r); });
        break;
      case Step::Kind::kMultiply:
        combine([](int64_t a, int64_t b, int64_t* r) { return __builtin_mul_overflow(a, b, r); });
        break;
      case Step::Kind::kDivide:
        if (stack.back() == 0 || stack[stack.size() - 2] % stack.back() != 0) {
          return Status(ErrorKind::kUsage, "'" + text_ + "' divides unevenly here");
        }
        combine([](int64_t a, int64_t b, int64_t* r) { return *r = a / b, false; });
        break;
    }
    if (overflow) return Status(ErrorKind::kUsage, "'" + text_ + "' is too large to count");
    stack.push_back(result);
  }
  if (stack.back() < 0) return Status(ErrorKind::kUsage, "'" + text_ + "' is negative here");
  return stack.back();
}

bool LabelMatches(std::string_view pattern, std::string_view label) {
  // Greedy with one point to return to: linear for one '*', never exponential.
  size_t p = 0, l = 0, star = std::string_view::npos, resume = 0;
  while (l < label.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = l;
    } else if (p < pattern.size() && pattern[p] == label[l]) {
      ++p;
      ++l;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      l = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace flipgate
