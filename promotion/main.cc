#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "promotion/cli.h"

extern char** environ;

int main(int argc, char** argv) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  flipgate::Terminal terminal{.out = &std::cout, .err = &std::cerr};
  const char* kind = std::getenv("TERM");
  const char* no_color = std::getenv("NO_COLOR");
  terminal.live =
      ::isatty(STDOUT_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
  terminal.color = terminal.live && (no_color == nullptr || *no_color == '\0');
  return flipgate::RunCli({argv + 1, argv + argc}, environment, terminal, flipgate::RealServices());
}
