#include "engine/faults.h"

#include <gtest/gtest.h>

#include <set>

#include "base/file.h"

namespace fg {
namespace {

TEST(Faults, NoneIsActiveByItself) {
  const Faults faults;
  for (const FaultInfo& info : AllFaults()) EXPECT_FALSE(faults.Active(info.fault)) << info.name;
  EXPECT_TRUE(faults.names().empty());
}

TEST(Faults, EachNameTurnsOnItsFaultAlone) {
  for (const FaultInfo& info : AllFaults()) {
    const auto faults = Faults::Parse(info.name);
    ASSERT_TRUE(faults.ok()) << info.name;
    EXPECT_EQ(faults->names(), std::vector<std::string>{info.name});
    for (const FaultInfo& other : AllFaults()) {
      EXPECT_EQ(faults->Active(other.fault), other.fault == info.fault) << info.name << other.name;
    }
  }
}

TEST(Faults, AnUnknownNameIsRefusedWithTheNearest) {
  const auto faults = Faults::Parse("nibles_swapped");
  ASSERT_FALSE(faults.ok());
  EXPECT_EQ(faults.status().kind(), ErrorKind::kUsage);
  EXPECT_EQ(faults.status().message(),
            "unknown fault 'nibles_swapped'; did you mean 'nibbles_swapped'?");
  EXPECT_EQ(Faults::Parse("xyzzy").status().message(), "unknown fault 'xyzzy'");
}

TEST(Faults, EveryFaultIsListedOnceWithTheKindsThatCatchIt) {
  std::set<std::string> names;
  for (const FaultInfo& info : AllFaults()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.kinds.empty()) << info.name;
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(Fault::kDeviceOverrun));
}

TEST(Faults, EachNamesTheDevicesThatItActsOn) {
  std::set<std::string> on_cuda;
  for (const FaultInfo& info : AllFaults()) {
    const std::string device = info.device;
    EXPECT_TRUE(device == "any" || device == "cpu" || device == "cuda") << info.name << device;
    if (device != "cpu") on_cuda.insert(info.name);
  }
  const std::set<std::string> want = {
      "gate_read_in_decode", "unbooked_memory", "nan_logits", "crash",
      "kv_row_off",          "stale_replay",    "racing_sum", "device_overrun"};
  EXPECT_EQ(on_cuda, want);
}

TEST(Faults, TheDocumentHoldsThisTableAndNothingElse) {
  const auto page = ReadFile(std::string(FG_SOURCE_DIR) + "/docs/faults.md");
  ASSERT_TRUE(page.ok()) << page.status().message();
  std::string table = "| fault | what it does | must turn red | acts on |\n|---|---|---|---|\n";
  for (const FaultInfo& info : AllFaults()) {
    std::string kinds;
    for (const std::string& kind : info.kinds) {
      kinds += (kinds.empty() ? "`" : ", `") + kind + "`";
    }
    table += std::string("| `") + info.name + "` | " + info.description + " | " + kinds + " | " +
             info.device + " |\n";
  }
  const size_t start = page->find("| fault |");
  ASSERT_NE(start, std::string::npos);
  const size_t end = page->find("\n\n", start);
  EXPECT_EQ(page->substr(start, end == std::string::npos ? end : end + 1 - start), table);
}

}  // namespace
}  // namespace fg
