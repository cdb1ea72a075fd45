#include "engine/gguf/gguf_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "engine/gguf/gguf_testing.h"

namespace fg {
namespace {

using std::string_literals::operator""s;

// Written by hand after docs/gguf.md, so that writer and reader cannot be wrong alike.
TEST(GgufWriter, GivesTheBytesOfTheFormat) {
  GgufWriter writer;
  writer.SetKey("k", GgufU32(7));
  writer.SetKey("s", GgufStrings({"ab"}));
  writer.AddTensor("t", TensorType::kF16, {3, 2});
  const std::string head =
      "GGUF\3\0\0\0"s + "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"s +  //
      "\1\0\0\0\0\0\0\0k\4\0\0\0\7\0\0\0"s +
      "\1\0\0\0\0\0\0\0s\x09\0\0\0\x08\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0ab"s +
      "\1\0\0\0\0\0\0\0t\2\0\0\0\3\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0"s + "\0\0\0\0\0\0\0\0"s;
  const std::string padded = head + std::string(32 - head.size() % 32, '\0');
  EXPECT_EQ(writer.Head(), padded);
  const std::vector<std::string> data = {"0123456789ab"};
  EXPECT_EQ(writer.Bytes(data), padded + data[0] + std::string(20, '\0'));
}

TEST(GgufWriter, WhatIsReadAndWrittenAgainIsTheSame) {
  const std::string bytes = SampleGguf();
  const Result<GgufFile> file = GgufFile::Parse(AsBytes(bytes));
  ASSERT_TRUE(file.ok()) << file.status().message();
  GgufWriter writer;
  std::vector<std::string> data;
  for (const auto& [name, value] : file->keys()) writer.SetKey(name, value);
  for (const GgufTensor& tensor : file->tensors()) {
    writer.AddTensor(tensor.name, tensor.type, tensor.shape);
    data.emplace_back(reinterpret_cast<const char*>(tensor.data), tensor.bytes);
  }
  EXPECT_EQ(writer.Bytes(data), bytes);
}

TEST(GgufWriter, SettingAKeyAgainKeepsItsPlace) {
  GgufWriter writer, other;
  writer.SetKey("a", GgufU32(1));
  writer.SetKey("b", GgufBool(true));
  writer.SetKey("a", GgufF32(2.0f));
  other.SetKey("a", GgufF32(2.0f));
  other.SetKey("b", GgufBool(true));
  EXPECT_EQ(writer.Head(), other.Head());
}

TEST(GgufWriter, KeepsTheAlignmentOfItsKey) {
  GgufWriter writer;
  writer.SetKey("general.alignment", GgufU32(64));
  writer.AddTensor("a", TensorType::kF32, {1});
  writer.AddTensor("b", TensorType::kF32, {17});
  EXPECT_EQ(writer.tensors()[1].offset, 64u);
  EXPECT_EQ(writer.PaddingAfter(0), 60u);
  EXPECT_EQ(writer.PaddingAfter(1), 60u);
  EXPECT_EQ(writer.Head().size() % 64, 0u);
}

TEST(GgufWriter, StreamsTheSameBytesAndHoldsTheCallbackToItsPlan) {
  GgufWriter writer;
  writer.AddTensor("a", TensorType::kF32, {3});
  writer.AddTensor("b", TensorType::kF16, {1});
  const std::vector<std::string> data = {"abcdefghijkl", "mn"};
  const std::string path =
      fg::ProcessTempDir() + "gguf_writer." + std::to_string(::getpid()) + ".gguf";
  {
    FileSink sink(path);
    const Status status =
        writer.WriteTo(&sink, [&](size_t i, FileSink* out) { return out->Write(data[i]); });
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(sink.Commit().ok());
  }
  EXPECT_EQ(*ReadFile(path), writer.Bytes(data));
  std::remove(path.c_str());
  FileSink sink(path);
  const Status status =
      writer.WriteTo(&sink, [](size_t, FileSink* out) { return out->Write("abc"); });
  EXPECT_EQ(status.kind(), ErrorKind::kInternal);
  EXPECT_EQ(status.message(), "tensor 'a' was written with 3 bytes, 12 were planned");
}

}  // namespace
}  // namespace fg
