// The program fg-engine as a user runs it, for the tests of its command line.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/process.h"

namespace fg::testing {

struct Ran {
  int code = -1;
  std::string out, err;
};

// `program` with these words, in this environment alone. A program that does not start, does not
// end or dies of a signal is a failure of the test.
inline Ran RunProgram(const std::string& program, const std::vector<std::string>& arguments,
                      std::vector<std::string> environment, const std::string& input) {
  ProcessSpec spec;
  spec.argv = {program};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  spec.environment = std::move(environment);
  RunProcessOptions options;
  options.input = input;
  const auto ran = RunProcess(spec, options);
  EXPECT_TRUE(ran.ok()) << ran.status().message();
  if (!ran.ok()) return {};
  EXPECT_FALSE(ran->timed_out);
  EXPECT_EQ(ran->exit.signal, 0) << ran->exit.Text();
  return {ran->exit.code, ran->out, ran->err};
}

}  // namespace fg::testing
