#include "engine/probe/line_io.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace fg {
namespace {

// What a reader with that limit makes of `input`: each event as "[line]" or "<too long>".
std::string Read(const std::string& input, size_t limit = 100, bool in_single_bytes = false) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  std::thread writer([&] {
    const size_t step = in_single_bytes ? 1 : input.size();
    for (size_t i = 0; i < input.size(); i += step) {
      EXPECT_EQ(write(ends[1], input.data() + i, step), static_cast<ssize_t>(step));
    }
    close(ends[1]);
  });
  LineReader reader(ends[0], limit);
  std::string seen, line = "left over";
  for (;;) {
    const auto event = reader.Next(&line);
    EXPECT_TRUE(event.ok());
    if (!event.ok() || *event == LineReader::Event::kEnd) break;
    seen += *event == LineReader::Event::kTooLong ? "<too long>" : "[" + line + "]";
  }
  EXPECT_EQ(*reader.Next(&line), LineReader::Event::kEnd);
  writer.join();
  close(ends[0]);
  return seen;
}

TEST(LineReader, GivesEachLineWithoutItsEnd) {
  EXPECT_EQ(Read(""), "");
  EXPECT_EQ(Read("a\nbc\n"), "[a][bc]");
  EXPECT_EQ(Read("a\r\n\n\r\nb"), "[a][][][b]");
  EXPECT_EQ(Read("a\nbc\n\nd", 100, true), "[a][bc][][d]");
  EXPECT_EQ(Read(std::string("a\0b\n", 4)), std::string("[a\0b]", 5));
}

TEST(LineReader, SkipsALineBeyondTheLimitAndGoesOn) {
  for (const bool in_single_bytes : {false, true}) {
    EXPECT_EQ(Read("12345\n123456\n12\n", 5, in_single_bytes), "[12345]<too long>[12]");
    EXPECT_EQ(Read("12345", 5, in_single_bytes), "[12345]");
    EXPECT_EQ(Read("123456", 5, in_single_bytes), "<too long>");
    EXPECT_EQ(Read(std::string(200, 'x') + "\ny\n", 5, in_single_bytes), "<too long>[y]");
  }
}

TEST(LineReader, LinesLongerThanOneReadComeWhole) {
  const std::string line(300000, 'q');
  EXPECT_EQ(Read(line + "\nr\n", 300000), "[" + line + "][r]");
  EXPECT_EQ(Read(line + "\nr\n", 299999), "<too long>[r]");
}

TEST(LineReader, AClosedDescriptorIsAnError) {
  LineReader reader(-1);
  std::string line;
  const auto event = reader.Next(&line);
  ASSERT_FALSE(event.ok());
  EXPECT_EQ(event.status().kind(), ErrorKind::kIo);
  EXPECT_EQ(event.status().message(), "standard input: Bad file descriptor");
}

TEST(WriteLine, WritesTheLineAndItsEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_TRUE(WriteLine(ends[1], "abc").ok());
  char text[8] = {};
  EXPECT_EQ(read(ends[0], text, sizeof(text)), 4);
  EXPECT_STREQ(text, "abc\n");
  close(ends[0]);
  close(ends[1]);
}

TEST(WriteLine, AReaderThatLeftIsAnError) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const Status status = WriteLine(ends[1], "abc");
  EXPECT_EQ(status.kind(), ErrorKind::kIo);
  EXPECT_EQ(status.message(), "standard output: Broken pipe");
  close(ends[1]);
}

}  // namespace
}  // namespace fg
