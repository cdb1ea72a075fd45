// fg-gates-gen DEFAULTS.yaml OUTPUT: the build's step from promotion/defaults.yaml to the table in
// the engine. Exit 2 with file, line and column on what it does not understand.
#include <cstdio>

#include "base/file.h"
#include "engine/gates_yaml.h"

namespace {

int Fail(const fg::Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: fg-gates-gen DEFAULTS.yaml OUTPUT\n");
    return 2;
  }
  const auto text = fg::ReadFile(argv[1]);
  if (!text.ok()) return Fail(text.status());
  const auto classes = fg::ReadDefaultsYaml(argv[1], *text);
  if (!classes.ok()) return Fail(classes.status());
  const fg::Status written = fg::WriteFileAtomic(argv[2], fg::DefaultsTableSource(*classes));
  return written.ok() ? 0 : Fail(written);
}
