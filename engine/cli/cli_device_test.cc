// --device as a user meets it: the program beside plugins without hardware.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/testing/temp_dir.h"
#include "engine/cli/cli_testing.h"
#include "engine/testing/fake_device.h"
#include "engine/testing/tiny_model.h"

namespace fg {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::Ran;
using ::testing::StartsWith;

// A copy of the program with fake plugin `number` (0: none) in `place`, "bin" or "lib".
class Installed {
 public:
  explicit Installed(int number, const std::string& place = "bin")
      : root_(ProcessTempDir() + "installed" + std::to_string(number) + place) {
    const std::filesystem::path binaries = FG_BINARY_DIR;
    std::filesystem::create_directories(root_ + "/bin");
    std::filesystem::create_directories(root_ + "/" + place);
    std::filesystem::copy_file(binaries / "bin/fg-engine", root_ + "/bin/fg-engine");
    if (number == 0) return;
    std::filesystem::copy_file(binaries / "fake_plugins" / std::to_string(number) / "libfg_cuda.so",
                               root_ + "/" + place + "/libfg_cuda.so");
  }
  ~Installed() { std::filesystem::remove_all(root_); }

  const std::string& root() const { return root_; }
  Ran Run(const std::vector<std::string>& arguments, std::vector<std::string> environment = {},
          const std::string& input = "") const {
    return testing::RunProgram(root_ + "/bin/fg-engine", arguments, std::move(environment), input);
  }

 private:
  std::string root_;
};

const std::string& Model() {
  static const std::string path = testing::WriteTinyModel({});
  return path;
}

TEST(CliDevice, WithoutAPluginCudaIsAnErrorAndAutoTheCpu) {
  const Installed none(0);
  const std::string missing = "this build has no CUDA backend (libfg_cuda.so is not in " +
                              none.root() + "/bin, " + none.root() +
                              "/lib): built without nvcc; configure with FG_CUDA=ON\n";
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"run", "-m", Model(), "-p", "x"}, {"bench", "-m", Model()}, {"probe"}, {"gates"}}) {
    auto arguments = command;
    arguments.insert(arguments.end(), {"--device", "cuda"});
    const Ran ran = none.Run(arguments);
    EXPECT_EQ(ran.code, 4) << command[0];
    EXPECT_EQ(ran.out, "") << command[0];
    EXPECT_EQ(ran.err, "fg-engine: device cuda: " + missing) << command[0];
  }
  const Ran fallen = none.Run({"gates", "--device", "auto"});
  EXPECT_EQ(fallen.code, 0);
  EXPECT_THAT(fallen.out, StartsWith("class cpu\n"));
  EXPECT_EQ(fallen.err, "fg-engine: device cpu: " + missing);
  EXPECT_EQ(none.Run({"gates", "--device", "cpu"}).err, "");
}

TEST(CliDevice, AnotherBuildIsAnErrorForAutoToo) {
  const Installed other(2);
  for (const char* device : {"cuda", "auto"}) {
    const Ran ran = other.Run({"gates", "--device", device});
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, StartsWith(std::string("fg-engine: device ") + device + ": " +
                                    other.root() + "/bin/libfg_cuda.so: is of another build"));
  }
}

TEST(CliDevice, WhatThePluginSaysIsSaid) {
  const Ran ran = Installed(3).Run({"gates", "--device", "cuda"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_EQ(ran.err, "fg-engine: device cuda: there is no driver; install one\n");
  const Ran fallen = Installed(3, "lib").Run({"gates", "--device", "auto"});
  EXPECT_EQ(fallen.code, 0);
  EXPECT_EQ(fallen.err, "fg-engine: device cpu: there is no driver; install one\n");
  EXPECT_EQ(Installed(0, "lib").Run({"gates", "--device", "gpu"}).err,
            "fg-engine: unknown device 'gpu'; known: cpu, cuda, auto; did you mean 'cpu'?\n");
}

TEST(CliDevice, GatesTakeTheDevicesClassUnlessAnotherIsGiven) {
  const Installed device(1, "lib");
  const auto class_of = [&](std::vector<std::string> more, std::vector<std::string> environment) {
    std::vector<std::string> arguments = {"gates", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = device.Run(arguments, std::move(environment));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? Json::parse(ran.out)["class"].get<std::string>() : "";
  };
  EXPECT_EQ(class_of({}, {}), "cpu");
  EXPECT_EQ(class_of({"--device", "cuda"}, {}), "sm_90");
  EXPECT_EQ(class_of({"--device", "auto"}, {}), "sm_90");
  EXPECT_EQ(class_of({"--device", "cuda"}, {"FG_DEVICE_CLASS=sm_80"}), "sm_80");
  EXPECT_EQ(class_of({"--device", "cuda", "--class", "sm_89"}, {}), "sm_89");
  EXPECT_EQ(class_of({}, {"FG_DEVICE_CLASS=sm_80"}), "cpu");
  const Ran said = device.Run({"gates", "--device", "auto"});
  EXPECT_EQ(said.err, "fg-engine: device sm_90: Fake Device\n");
  const Ran above = device.Run({"gates", "--device", "auto"}, {"FG_DEVICE_CLASS=sm_100"});
  EXPECT_EQ(above.code, 2);
  EXPECT_EQ(above.err, "fg-engine: device auto: FG_DEVICE_CLASS='sm_100' is above this device\n");
}

TEST(CliDevice, RunAnswersThereAndSaysMemory) {
  const Installed device(1);
  // The token after a byte is the next one.
  const Ran ran =
      device.Run({"run", "-m", Model(), "-p", "a", "-n", "4", "--device", "cuda", "--stats"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "bcde\n");
  EXPECT_THAT(ran.err, HasSubstr("fg-engine: device sm_90: Fake Device\n"));
  EXPECT_THAT(ran.err, HasSubstr("fg-engine: device memory 300.00 MiB used of 1000.00 MiB, 100.00 "
                                 "MiB before the load\n"));
  const Ran cpu = device.Run({"run", "-m", Model(), "-p", "a", "-n", "4", "--stats"});
  EXPECT_THAT(cpu.err, ::testing::Not(HasSubstr("device")));
}

TEST(CliDevice, BenchHasNoFiguresOfTheCpuThere) {
  const Installed device(1);
  const Ran ran = device.Run(
      {"bench", "-m", Model(), "-p", "20", "-n", "2", "-r", "2", "--json", "--device", "cuda"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Json rows = Json::parse(ran.out);
  ASSERT_EQ(rows.size(), 2u);
  for (const Json& row : rows) {
    EXPECT_EQ(row["level"], "sm_90");
    EXPECT_EQ(row["device"], "Fake Device");
    EXPECT_EQ(row["gpu_info"], "Fake Device");
    EXPECT_EQ(row["ceiling"], nullptr);
    EXPECT_FALSE(row.contains("read_buffer_bytes"));
    EXPECT_EQ(row["scratch_bytes"], 0);  // the fake device books none
    EXPECT_EQ(row["n_batch"], 20);       // of the context, below 4096
  }
  EXPECT_EQ(device.Run({"bench", "-m", Model(), "-t", "2", "--device", "cuda"}).err,
            "fg-engine: bench: -t counts threads of the CPU; leave it out on a device\n");
}

TEST(CliDevice, BenchKernelsSaysWhereTheTimeGoes) {
  const Installed device(1);
  const Ran ran = device.Run({"bench", "-m", Model(), "-p", "20", "-n", "30", "-d", "8", "-r", "2",
                              "--kernels", "--json", "--device", "cuda"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Json reports = Json::parse(ran.out);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0]["test"], "pp20@d8");
  EXPECT_EQ(reports[1]["test"], "tg1@d8");
  // Of the last forward alone: 20 rows, one row.
  EXPECT_EQ(reports[0]["kernels"][0]["kernel"], "gemm.f16.q4_K 96x64");
  EXPECT_NEAR(reports[0]["kernels"][0]["ms"], 60, 1e-9);
  EXPECT_EQ(reports[0]["kernels"][0]["launches"], 2);
  EXPECT_NEAR(reports[0]["kernels"][1]["share"], 0.25, 1e-12);
  EXPECT_NEAR(reports[1]["kernels_ms"], 4, 1e-9);
  const Ran table = device.Run(
      {"bench", "-m", Model(), "-p", "20", "-n", "0", "-r", "1", "--kernels", "--device", "cuda"});
  EXPECT_THAT(table.out, HasSubstr("| gemm.f16.q4_K 96x64                      |        2 |    "
                                   "60.000 |  75.0 % |      2.0 |      1.0 |\n"));
  const Ran cpu = device.Run({"bench", "-m", Model(), "--kernels"});
  EXPECT_EQ(cpu.code, 2);
  EXPECT_EQ(cpu.err,
            "fg-engine: bench --kernels times the kernels of a device; add --device cuda\n");
}

TEST(CliDevice, TheProbeSpeaksOfTheDevice) {
  const Installed device(1);
  const Ran ran = device.Run({"probe", "--device", "cuda"}, {"FG_CUBLASLT_PATH=/opt/lt"},
                             "{\"id\": 1, \"request\": \"hello\"}\n");
  EXPECT_EQ(ran.code, 0);
  const Json hello = Json::parse(ran.out);
  EXPECT_EQ(hello["device"]["class"], "sm_90");
  EXPECT_EQ(hello["device"]["cublaslt"], "/opt/lt");
  EXPECT_EQ(hello["build"]["toolchain"]["toolkit"], "13.0");
}

}  // namespace
}  // namespace fg
