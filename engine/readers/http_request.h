// The head of an HTTP/1 request, read as what a hostile client sent.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fg {

constexpr size_t kMostRequestBytes = 8192;  // of the whole head
constexpr size_t kMostHeaders = 64;

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // without the query
  std::string host;    // of the one Host header; "" where there is none
};

struct HttpReading {
  // 0: more bytes are needed; 200: `request` is whole; else the status to refuse with: 400 (no
  // request, or two hosts), 431 (too long, too many headers), 505 (another version).
  int status = 0;
  HttpRequest request;
};

// Reads the head at the start of `bytes`, everything that has come so far. Lines end in CRLF or LF.
HttpReading ReadHttpRequest(std::string_view bytes);

// Whether a Host header names this machine's own loopback at `port`: 127.0.0.1 or localhost, with
// that port or with none. Another name means that a page's name was pointed here (DNS rebinding).
bool HostIsLoopback(std::string_view host, int port);

}  // namespace fg
