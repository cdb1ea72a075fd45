#include "promotion/testing/repository.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/process.h"
#include "base/testing/temp_dir.h"

namespace flipgate {

TestRepository::TestRepository(const std::string& name)
    : path_(fg::ProcessTempDir() + name + "-" + std::to_string(::getpid())) {
  std::filesystem::remove_all(path_);
  std::filesystem::create_directories(path_);
  Git("init -q -b main");
}

TestRepository::~TestRepository() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TestRepository::Write(const std::string& file, const std::string& text) {
  const std::filesystem::path full = std::filesystem::path(path_) / file;
  std::filesystem::create_directories(full.parent_path());
  std::ofstream(full) << text;
}

std::string TestRepository::Commit(const std::string& message) {
  Git("add -A");
  Git("-c user.name=Test -c user.email=test@example.invalid commit -q --allow-empty -m '" +
      message + "'");
  std::string id = Git("rev-parse HEAD");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

std::string TestRepository::Git(const std::string& arguments) {
  fg::ProcessSpec spec;
  spec.argv = {"/bin/sh", "-c", "git -C '" + path_ + "' " + arguments};
  spec.environment = fg::PassedEnvironment({"PATH", "HOME"});
  auto output = fg::RunProcess(spec);
  EXPECT_TRUE(output.ok() && output->exit.ok())
      << arguments << ": " << (output.ok() ? output->err : output.status().message());
  return output.ok() ? output->out : "";
}

}  // namespace flipgate
