#include "promotion/command_compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/file.h"
#include "base/testing/temp_dir.h"

namespace flipgate {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Compare : public ::testing::Test {
 protected:
  // Writes TEXT and gives the path.
  std::string File(const std::string& name, const std::string& text) {
    const std::string path = fg::ProcessTempDir() + name;
    EXPECT_TRUE(fg::WriteFileAtomic(path, text).ok());
    return path;
  }
  // `count` numbers around `center`, each a little off.
  std::string Numbers(double center, int count, double step = 0.002) {
    std::string text = "# tokens per second\n";
    for (int i = 0; i < count; ++i) {
      text += std::to_string(center * (1 + step * ((i * 7) % 5 - 2))) + "\n";
    }
    return text;
  }
  int Run(std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    arguments.insert(arguments.begin(), "compare");
    return RunCli(arguments, {}, {.out = &out_, .err = &err_}, {});
  }

  std::ostringstream out_, err_;
};

std::string Bench(const std::string& model, int prompt, int generated, const std::string& samples) {
  return R"({"model_type": ")" + model + R"(", "n_prompt": )" + std::to_string(prompt) +
         R"(, "n_gen": )" + std::to_string(generated) + R"(, "n_depth": 0, "n_threads": 2,
 "samples_ts": [)" +
         samples + "]}";
}

TEST_F(Compare, NumbersAreJudgedWithTheSuitesWords) {
  const std::string a = File("a", Numbers(100, 16));
  EXPECT_EQ(Run({a, File("slow", Numbers(90, 16, 0.001))}), 1);
  EXPECT_THAT(out_.str(), StartsWith("values: B is slower, -10.0"));
  EXPECT_THAT(out_.str(), HasSubstr(" over 16 units; medians 100 and 90\n"));
  EXPECT_EQ(Run({a, File("fast", Numbers(110, 16, 0.001))}), 0);
  EXPECT_THAT(out_.str(), StartsWith("values: B is faster, +10.0"));
  EXPECT_EQ(Run({a, File("same", Numbers(100.1, 16, 0.001))}), 0);
  EXPECT_THAT(out_.str(), StartsWith("values: B is flat, +0.1"));
}

TEST_F(Compare, SecondsAreTheOtherWayRound) {
  const std::string a = File("a", Numbers(100, 16)), b = File("b", Numbers(90, 16, 0.001));
  EXPECT_EQ(Run({a, b, "--seconds"}), 0);
  EXPECT_THAT(out_.str(), StartsWith("values: B is faster"));
}

TEST_F(Compare, TooFewUnitsAreUndecided) {
  const std::string a = File("a", Numbers(100, 15)), b = File("b", Numbers(50, 15, 0.001));
  EXPECT_EQ(Run({a, b}), 3);
  EXPECT_THAT(out_.str(), StartsWith("values: B is undecided (15 units are there, the next look is "
                                     "at 16); medians 100 and 50\n"));
}

TEST_F(Compare, JsonHoldsEveryUnitAndLook) {
  const std::string a = File("a", Numbers(100, 20)), b = File("b", Numbers(90, 20, 0.001));
  EXPECT_EQ(Run({a, b, "--json", "--cells", "8"}), 1);
  const fg::Json answer = fg::Json::parse(out_.str());
  EXPECT_EQ(answer["cells"], 8);
  const fg::Json& pair = answer["pairs"].at(0);
  EXPECT_EQ(pair["verdict"], "slower");
  EXPECT_EQ(pair["units"].size(), 20u);
  EXPECT_EQ(pair["used"], 16);
  ASSERT_EQ(pair["looks"].size(), 1u);
  EXPECT_LT(pair["looks"][0]["slower"][1].get<double>(), std::log(0.93));
}

TEST_F(Compare, LlamaBenchIsPairedByTest) {
  std::string slow, fast;
  for (int i = 0; i < 16; ++i) {
    slow += (i ? ", " : "") + std::to_string(80 + 0.1 * (i % 3));
    fast += (i ? ", " : "") + std::to_string(100 + 0.1 * (i % 5));
  }
  const std::string a = File("a.json", "[" + Bench("qwen2 1B Q4_K", 512, 0, fast) + ", " +
                                           Bench("qwen2 1B Q4_K", 0, 128, fast) + "]");
  const std::string b = File("b.json", "[" + Bench("qwen2 1B Q4_K", 0, 128, fast) + ", " +
                                           Bench("qwen2 1B Q4_K", 512, 0, slow) + "]");
  EXPECT_EQ(Run({a, b}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("qwen2 1B Q4_K pp512: B is slower"));
  EXPECT_THAT(out_.str(), HasSubstr("qwen2 1B Q4_K tg128: B is flat"));
  EXPECT_THAT(out_.str(), HasSubstr("note: repetitions inside one process"));
}

// One object a process: each is a unit, and nothing needs to be said.
TEST_F(Compare, EntriesOfSeveralProcessesAreUnits) {
  std::string a, b;
  for (int i = 0; i < 16; ++i) {
    std::string line = Bench("m", 512, 0, std::to_string(100 + i % 3) + ", 100");
    line.erase(line.find('\n'), 1);
    a += line + "\n";
    line = Bench("m", 512, 0, std::to_string(120 + i % 2) + ", 120");
    line.erase(line.find('\n'), 1);
    b += line + "\n";
  }
  EXPECT_EQ(Run({File("a.jsonl", a), File("b.jsonl", b)}), 0);
  EXPECT_THAT(out_.str(), StartsWith("m pp512: B is faster"));
  EXPECT_EQ(out_.str().find("note"), std::string::npos);
}

TEST_F(Compare, MistakesNameTheirPlace) {
  const std::string a = File("a", Numbers(100, 16));
  const auto refused = [&](const std::string& text, const std::string& message) {
    const std::string b = File("b", text);
    EXPECT_EQ(Run({a, b}), 2) << text;
    EXPECT_EQ(err_.str(), "flipgate: " + message + "\n");
  };
  const std::string b = fg::ProcessTempDir() + "b";
  refused("1\n2 # two\nthree\n", b + ":3: 'three' is no number above 0; one measured value a line");
  refused("nan\n", b + ":1: 'nan' is no number above 0; one measured value a line");
  refused("-1\n", b + ":1: '-1' is no number above 0; one measured value a line");
  refused("# nothing\n", b + ": holds no value");
  refused("\n", b + ": is empty");
  refused("1\n", "'values': " + a + " holds 16 values and " + b +
                     " holds 1; a unit is one of each, measured side by side");
  refused("[]", b + ": holds no test");
  refused(R"([{"model_type": "m", "n_prompt": 1, "n_gen": 0, "samples_ts": [0]}])",
          b + ": [0].samples_ts: holds what is no number above 0");
  refused("[" + Bench("m", 512, 0, "1") + "]", "'m pp512' is in " + b + " and not in " + a);
  EXPECT_EQ(Run({a, File("copy", Numbers(100, 16))}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("hold the same bytes: nothing is compared with itself"));
  EXPECT_EQ(Run({a, "/no/such"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: /no/such: there is no such file\n");
}

}  // namespace
}  // namespace flipgate
