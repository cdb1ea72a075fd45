#include "gates/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/file.h"
#include "base/process.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Result;
using fg::Status;

constexpr size_t kBlock = 512;
constexpr size_t kLargest = size_t{256} << 20;

// POSIX ustar header; every field is text, NUL-padded.
struct Header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
  char magic[8];  // "ustar\0" "00"
  char user[32], group[32], major[8], minor[8], prefix[155], padding[12];
};
static_assert(sizeof(Header) == kBlock);

// Sum of all bytes with the checksum field taken as blanks.
unsigned Checksum(const Header& header) {
  Header copy = header;
  std::memset(copy.checksum, ' ', sizeof copy.checksum);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&copy);
  unsigned sum = 0;
  for (size_t i = 0; i < sizeof copy; ++i) sum += bytes[i];
  return sum;
}

template <size_t N>
void PutOctal(char (&field)[N], uint64_t value) {
  const std::string text = fmt::format("{:0{}o}", value, N - 1);
  std::memcpy(field, text.data(), N - 1);
}

template <size_t N>
bool GetOctal(const char (&field)[N], uint64_t* value) {
  const char* end = std::find(field, field + N, '\0');
  while (end > field && end[-1] == ' ') --end;
  const auto read = std::from_chars(field, end, *value, 8);
  return read.ec == std::errc() && read.ptr == end;
}

void Append(const std::string& name, const std::string& bytes, std::string* tar) {
  Header header = {};
  std::memcpy(header.name, name.data(), std::min(name.size(), sizeof header.name - 1));
  PutOctal(header.mode, 0644);
  PutOctal(header.uid, 0);
  PutOctal(header.gid, 0);
  PutOctal(header.size, bytes.size());
  PutOctal(header.mtime, 0);
  header.type = '0';
  std::memcpy(header.magic,
              "ustar\0"
              "00",
              sizeof header.magic);
  const std::string sum = fmt::format("{:06o}", Checksum(header));
  std::memcpy(header.checksum, sum.data(), 6);
  header.checksum[7] = ' ';
  tar->append(reinterpret_cast<const char*>(&header), sizeof header);
  tar->append(bytes);
  tar->append((kBlock - bytes.size() % kBlock) % kBlock, '\0');
}

Result<std::string> Gzip(const std::vector<std::string>& arguments, const std::string& input) {
  fg::ProcessSpec spec{.argv = {"gzip"}, .environment = fg::PassedEnvironment({"PATH"})};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  FG_ASSIGN_OR_RETURN(fg::ProcessOutput run,
                      fg::RunProcess(spec, {.input = input, .output_limit = kLargest}));
  if (run.timed_out) return Status(ErrorKind::kIo, "gzip: no end within 60 s");
  if (!run.exit.ok()) {
    return Status(ErrorKind::kUsage, fmt::format("gzip: {}: {}", run.exit.Text(),
                                                 run.err.substr(0, run.err.find('\n'))));
  }
  return std::move(run.out);
}

bool IsBundleName(const std::string& name) {
  for (const char* known : kBundleFiles) {
    if (name == known) return true;
  }
  const std::string raw = std::string(kRawFolder) + "/";
  return name.starts_with(raw) && IsSum(name.substr(raw.size()));
}

// A name for a message: control characters shown as '?', at most 100.
std::string Shown(const std::string& name) {
  std::string shown = name.substr(0, 100);
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7F; }, '?');
  return shown;
}

Result<BundleFiles> ParseTar(const std::string& tar) {
  BundleFiles files;
  const auto refuse = [](const std::string& message) { return Status(ErrorKind::kUsage, message); };
  for (size_t at = 0; at + kBlock <= tar.size();) {
    Header header;
    std::memcpy(&header, tar.data() + at, kBlock);
    if (std::all_of(tar.begin() + static_cast<std::ptrdiff_t>(at),
                    tar.begin() + static_cast<std::ptrdiff_t>(at + kBlock),
                    [](char c) { return c == '\0'; })) {
      if (!files.contains("bundle.json")) return refuse("holds no bundle.json");
      return files;
    }
    uint64_t checksum = 0, size = 0;
    if (!GetOctal(header.checksum, &checksum) || checksum != Checksum(header) ||
        !GetOctal(header.size, &size)) {
      return refuse(fmt::format("damaged member at byte {}", at));
    }
    const std::string name(header.name,
                           std::find(header.name, header.name + sizeof header.name, '\0'));
    if (header.type != '0' && header.type != '\0')
      return refuse(fmt::format("'{}' is no regular file", Shown(name)));
    if (!IsBundleName(name) || header.prefix[0] != '\0')
      return refuse(fmt::format("'{}' is no file of a bundle", Shown(name)));
    if (files.contains(name)) return refuse(fmt::format("'{}' stands twice", name));
    at += kBlock;
    if (size > tar.size() - at) return refuse(fmt::format("'{}' is cut off", name));
    files[name] = tar.substr(at, size);
    at += (size + kBlock - 1) / kBlock * kBlock;
  }
  return refuse("cut off before its end");
}

}  // namespace

Result<std::string> WriteArchive(const BundleFiles& files) {
  std::string tar;
  for (const auto& [name, bytes] : files) {
    if (!IsBundleName(name))
      return Status(ErrorKind::kUsage, "'" + Shown(name) + "' is no file of a bundle");
    Append(name, bytes, &tar);
  }
  tar.append(2 * kBlock, '\0');
  if (tar.size() > kLargest) return Status(ErrorKind::kUsage, "the bundle is larger than 256 MiB");
  return Gzip({"-n", "-c"}, tar);
}

Status ArchiveFolder(const std::string& folder) {
  FG_ASSIGN_OR_RETURN(const BundleFiles files, ReadBundleFolder(folder));
  const std::string path = folder + "/" + kArchiveName;
  const auto archive = WriteArchive(files);
  if (!archive.ok()) return archive.status().WithContext(path);
  return fg::WriteFileAtomic(path, *archive);
}

Result<BundleFiles> ReadArchive(const std::string& path) {
  FG_ASSIGN_OR_RETURN(const std::string bytes, fg::ReadFile(path));
  const auto tar = Gzip({"-d", "-c"}, bytes);
  if (!tar.ok()) return tar.status().WithContext(path);
  auto files = ParseTar(*tar);
  if (!files.ok()) return files.status().WithContext(path);
  return files;
}

}  // namespace flipgate
