#include "engine/readers/http_request.h"

#include <algorithm>
#include <optional>

namespace fg {
namespace {

bool IsTokenChar(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenChar);
}

bool IsVisible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view Trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// The next line without its end, taken off `rest`; nothing when it has not ended yet.
std::optional<std::string_view> TakeLine(std::string_view* rest) {
  const size_t end = rest->find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view line = rest->substr(0, end);
  rest->remove_prefix(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// 200, 400 or 505.
int ReadRequestLine(std::string_view line, HttpRequest* request) {
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return 400;
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!IsToken(line.substr(0, first)) || !target.starts_with('/') || !IsVisible(target)) return 400;
  if (!version.starts_with("HTTP/")) return 400;
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return 505;
  request->method = line.substr(0, first);
  request->path = target.substr(0, target.find('?'));
  return 200;
}

// 200 or 400. A line that goes on the one before (it starts with a blank) is no token.
int ReadHeader(std::string_view line, bool* has_host, HttpRequest* request) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) return 400;
  if (line.find('\0') != std::string_view::npos) return 400;
  if (Lower(line.substr(0, colon)) != "host") return 200;
  if (*has_host) return 400;
  *has_host = true;
  request->host = Trimmed(line.substr(colon + 1));
  return 200;
}

HttpReading Refused(int status) { return {status, {}}; }

}  // namespace

HttpReading ReadHttpRequest(std::string_view bytes) {
  const bool full = bytes.size() >= kMostRequestBytes;
  std::string_view rest = bytes.substr(0, kMostRequestBytes);
  const HttpReading unfinished = full ? Refused(431) : HttpReading();
  const auto first = TakeLine(&rest);
  if (!first) return unfinished;
  HttpReading reading;
  reading.status = ReadRequestLine(*first, &reading.request);
  if (reading.status != 200) return Refused(reading.status);
  bool has_host = false;
  for (size_t headers = 0;; ++headers) {
    const auto line = TakeLine(&rest);
    if (!line) return unfinished;
    if (line->empty()) return reading;
    if (headers == kMostHeaders) return Refused(431);
    if (ReadHeader(*line, &has_host, &reading.request) != 200) return Refused(400);
  }
}

bool HostIsLoopback(std::string_view host, int port) {
  const std::string lower = Lower(host);
  for (const char* name : {"127.0.0.1", "localhost"}) {
    if (lower == name || lower == name + (":" + std::to_string(port))) return true;
  }
  return false;
}

}  // namespace fg
