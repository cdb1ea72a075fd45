// Damaged files, made by a script that shares no code with the reader, against the full message
// that fixtures/hostile/manifest.json expects of each. Debug and Release must say the same.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "engine/gguf/gguf.h"

namespace fg {
namespace {

namespace fs = std::filesystem;

const char kFolder[] = FG_BINARY_DIR "/hostile";

std::map<std::string, std::string> Manifest() {
  const auto text = ReadFile(FG_SOURCE_DIR "/fixtures/hostile/manifest.json");
  EXPECT_TRUE(text.ok()) << text.status().message();
  return nlohmann::json::parse(*text);
}

TEST(GgufHostile, EveryFileHasItsMessageAndEveryMessageItsFile) {
  std::map<std::string, std::string> said;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".gguf") continue;
    const auto mapped = MappedFile::Open(entry.path().string());
    ASSERT_TRUE(mapped.ok()) << mapped.status().message();
    const Result<GgufFile> file = GgufFile::Parse(mapped->bytes());
    const ErrorKind expected = file.ok() ? ErrorKind::kOk : ErrorKind::kBadModel;
    EXPECT_EQ(file.status().kind(), expected) << entry.path();
    said[entry.path().stem().string()] = file.status().message();
  }
  EXPECT_GT(said.size(), 80u);
  EXPECT_EQ(said, Manifest());
}

TEST(GgufHostile, TheSharpestCasesAreThere) {
  const auto manifest = Manifest();
  for (const char* name :
       {"last_byte_cut", "last_tensor_half_cut", "offset_wraps", "offset_not_aligned",
        "tensors_overlap", "dimension_zero_rows", "dimension_zero_width", "alignment_0",
        "alignment_2_31", "alignment_u64", "alignment_string", "alignment_negative"}) {
    ASSERT_TRUE(manifest.contains(name)) << name;
    EXPECT_NE(manifest.at(name), "") << name;
  }
}

}  // namespace
}  // namespace fg
