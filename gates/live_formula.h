// What a gate says of its dispatch labels: "= w16(q4_K) * prefills", and label patterns
// "mmq.q4_K.*". Format: docs/matrix.md "Labels".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace flipgate {

// What the names of a formula stand for in one cell.
struct FormulaValues {
  std::map<std::string, int64_t> w16 = {};  // per type, as `load` answers; an absent type counts 0
  std::map<std::string, int64_t> v16 = {};  // values of those weights, per type
  int64_t prefills = 0;                     // forwards of 16 rows or more
  int64_t layers = 0;
  int64_t skip_write = 0;  // 1 where the model's weights and widths allow a skip-write window
};

// A condition on a count: `= EXPR` or `>= EXPR`; EXPR of w16(TYPE), v16(TYPE), prefills, layers,
// skip_write, whole numbers, + - * / and parentheses. A division must come out even.
class LiveFormula {
 public:
  // kUsage "column 9: unknown name 'prefils'; did you mean 'prefills'?": one-based within `text`.
  static fg::Result<LiveFormula> Parse(std::string_view text);

  // The right-hand side. kUsage when it overflows, is negative or divides unevenly.
  fg::Result<int64_t> Value(const FormulaValues& values) const;
  bool equal() const { return equal_; }  // '=', else '>='
  const std::string& text() const { return text_; }
  // Whether `count` meets the condition, given Value().
  bool Holds(int64_t count, int64_t value) const {
    return equal_ ? count == value : count >= value;
  }

 private:
  struct Step {  // reverse Polish
    enum class Kind {
      kNumber,
      kW16,
      kV16,
      kPrefills,
      kLayers,
      kSkipWrite,
      kAdd,
      kSubtract,
      kMultiply,
      kDivide
    } kind;
    int64_t number = 0;
    std::string type;
  };
  friend class FormulaParser;

  bool equal_ = true;
  std::string text_;
  std::vector<Step> steps_;
};

// Whether `label` matches `pattern`; '*' stands for any run of characters, everything else for
// itself.
bool LabelMatches(std::string_view pattern, std::string_view label);

}  // namespace flipgate
