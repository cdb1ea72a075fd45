#include "engine/readers/http_request.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

using namespace std::string_literals;

const std::string kGood = "GET /events?after=3 HTTP/1.1\r\nHost: 127.0.0.1:80\r\nA-b: c\r\n\r\n";

TEST(HttpRequest, AHeadIsRead) {
  const HttpReading reading = ReadHttpRequest(kGood);
  EXPECT_EQ(reading.status, 200);
  EXPECT_EQ(reading.request.method, "GET");
  EXPECT_EQ(reading.request.path, "/events");
  EXPECT_EQ(reading.request.host, "127.0.0.1:80");
  EXPECT_EQ(ReadHttpRequest("HEAD / HTTP/1.0\nhOST:\tlocalhost \n\nbody").request.host,
            "localhost");
}

TEST(HttpRequest, EveryPartOfItWantsMore) {
  for (size_t size = 0; size < kGood.size(); ++size) {
    EXPECT_EQ(ReadHttpRequest(std::string_view(kGood).substr(0, size)).status, 0) << size;
  }
}

TEST(HttpRequest, WhatIsNoRequestIs400) {
  for (const std::string& bytes :
       {"\r\n\r\n"s, "GET\r\n\r\n"s, "GET /\r\n\r\n"s, "GET  HTTP/1.1\r\n\r\n"s,
        "GET x HTTP/1.1\r\n\r\n"s, "GET http://a/ HTTP/1.1\r\n\r\n"s, "G\x01T / HTTP/1.1\r\n\r\n"s,
        "GET /a b HTTP/1.1\r\n\r\n"s, "GET /\xff HTTP/1.1\r\n\r\n"s, "GET /\0 HTTP/1.1\r\n\r\n"s,
        "GET / HTTQ/1.1\r\n\r\n"s, "\x16\x03\x01 / x\r\n\r\n"s,
        "GET / HTTP/1.1\r\nno colon\r\n\r\n"s, "GET / HTTP/1.1\r\n: empty\r\n\r\n"s,
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n"s, "GET / HTTP/1.1\r\nA: b\r\n folded: c\r\n\r\n"s,
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"s, "GET / HTTP/1.1\r\nA: \0\r\n\r\n"s}) {
    EXPECT_EQ(ReadHttpRequest(bytes).status, 400) << bytes;
  }
}

TEST(HttpRequest, AnotherVersionIs505) {
  EXPECT_EQ(ReadHttpRequest("GET / HTTP/2.0\r\n\r\n").status, 505);
  EXPECT_EQ(ReadHttpRequest("GET / HTTP/1.10\r\n\r\n").status, 505);
}

TEST(HttpRequest, WhatIsTooLongIs431WhileItStillComes) {
  const std::string line = "GET / HTTP/1.1\r\n";
  EXPECT_EQ(ReadHttpRequest(std::string(kMostRequestBytes - 1, 'a')).status, 0);
  EXPECT_EQ(ReadHttpRequest(std::string(kMostRequestBytes, 'a')).status, 431);
  EXPECT_EQ(ReadHttpRequest(line + "A: " + std::string(kMostRequestBytes, 'a')).status, 431);
  std::string headers = line;
  for (size_t i = 0; i < kMostHeaders; ++i) headers += "A: b\r\n";
  EXPECT_EQ(ReadHttpRequest(headers + "\r\n").status, 200);
  EXPECT_EQ(ReadHttpRequest(headers + "A: b\r\n\r\n").status, 431);
}

TEST(HttpRequest, OnlyThisMachinesNamesAreHosts) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:8080", "localhost", "LocalHost:8080"}) {
    EXPECT_TRUE(HostIsLoopback(host, 8080)) << host;
  }
  for (const char* host : {"", "evil.example", "evil.example:8080", "127.0.0.1:8081",
                           "127.0.0.1:", "127.0.0.1.evil", "localhost.evil.example:8080",
                           "127.0.0.2", "[::1]:8080", "localhost:08080", "127.0.0.1:8080 x"}) {
    EXPECT_FALSE(HostIsLoopback(host, 8080)) << host;
  }
}

}  // namespace
}  // namespace fg
