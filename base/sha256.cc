#include "base/sha256.h"

#include <openssl/evp.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace fg {

struct Sha256::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~Impl() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr);
}

Sha256::~Sha256() = default;

void Sha256::Update(const void* data, size_t bytes) {
  EVP_DigestUpdate(impl_->context, data, bytes);
}

std::string Sha256::Hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int bytes = 0;
  EVP_DigestFinal_ex(impl_->context, digest, &bytes);
  static const char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes);
  for (unsigned int i = 0; i < bytes; ++i) {
    hex += kDigits[digest[i] >> 4];
    hex += kDigits[digest[i] & 15];
  }
  return hex;
}

std::string Sha256Hex(std::span<const std::byte> data) {
  Sha256 sum;
  sum.Update(data.data(), data.size());
  return sum.Hex();
}

std::string Sha256Hex(std::string_view text) {
  Sha256 sum;
  sum.Update(text);
  return sum.Hex();
}

Result<std::string> Sha256File(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return Status(ErrorKind::kIo, path + ": " + std::strerror(errno));
  Sha256 sum;
  std::vector<char> piece(1 << 20);
  size_t bytes;
  while ((bytes = std::fread(piece.data(), 1, piece.size(), file)) > 0)
    sum.Update(piece.data(), bytes);
  const bool failed = std::ferror(file) != 0;
  std::fclose(file);
  if (failed) return Status(ErrorKind::kIo, path + ": read failed");
  return sum.Hex();
}

}  // namespace fg
