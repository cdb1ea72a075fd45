// SHA-256, lower-case hexadecimal, through libcrypto.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fg {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(const void* data, size_t bytes);
  void Update(std::string_view text) { Update(text.data(), text.size()); }
  // 64 hexadecimal digits. The object takes no more data afterwards.
  std::string Hex();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string Sha256Hex(std::span<const std::byte> data);
std::string Sha256Hex(std::string_view text);

// Sum of a file's bytes, read in pieces; kIo names the path and the reason.
Result<std::string> Sha256File(const std::string& path);

}  // namespace fg
