// What a self-check says: selfcheck.json (schema/selfcheck.schema.json) and its exit code.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "promotion/selfcheck.h"

namespace flipgate {

inline constexpr int kSelfCheckSchema = 1;

// "passed" (0), "failed" (1), "unproven" (3) or "error" (4).
struct SelfCheckVerdict {
  std::string word;
  int exit = 0;
  std::vector<std::string> reasons;  // a sentence per cause
};

SelfCheckVerdict Verdict(const SelfCheckReport& report);
fg::Json SelfCheckJson(const SelfCheckReport& report);

}  // namespace flipgate
