// fg-engine. The environment is taken here, once, and goes to the registry of gates alone.
#include <unistd.h>

#include <string>
#include <vector>

#include "engine/cli/cli.h"

int main(int argc, char** argv) {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    environment.emplace_back(*entry);
  }
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return fg::RunCli(arguments, environment);
}
