// The doctor's checks on made-up machines, and the command's exit codes.
#include "promotion/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "gates/testing/example_bundle.h"
#include "promotion/cli.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::Json;
using testing::HasSubstr;
using Level = Finding::Level;

class DoctorTest : public testing::Test {
 protected:
  DoctorTest() { fs::create_directories(root_); }
  ~DoctorTest() override { fs::remove_all(root_); }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(fg::WriteFileAtomic(root_ + "/" + name, text).ok());
  }
  const std::string root_ = fg::ProcessTempDir() + "doctor_test_" + std::to_string(::getpid());
};

TEST_F(DoctorTest, VariablesThatWouldReachAnEngineAreFailures) {
  EXPECT_EQ(CheckVariables({"PATH=/bin"})[0].level, Level::kOk);
  const Findings set = CheckVariables({"FG_B=1", "FG_A="});
  EXPECT_EQ(set[0].level, Level::kFail);
  EXPECT_EQ(set[0].text, "FG_A, FG_B set here, which no run starts with");
  EXPECT_EQ(set[0].advice, "unset FG_A FG_B");
  EXPECT_EQ(CheckVariables({"FG_CUBLASLT_PATH=" + root_})[1].level, Level::kOk);
  EXPECT_EQ(CheckVariables({"FG_CUBLASLT_PATH=/no/such"})[1].level, Level::kWarn);
}

TEST_F(DoctorTest, ToolsAreThoseThatTheProjectNames) {
  Project project;
  project.tools = {"/bin/sh/no", "git"};
  project.build = {{"no-such-program-here", "-B"}};
  project.report = {"{build}/x"};
  const Findings findings = CheckTools(project);
  ASSERT_EQ(findings.size(), 4u);  // git once; a program that the build makes is none of them
  EXPECT_EQ(findings[0].level, Level::kFail);
  EXPECT_EQ(findings[1].name, "git");
  EXPECT_EQ(findings[1].level, Level::kOk);
  EXPECT_THAT(findings[1].text, HasSubstr("git version"));
  EXPECT_EQ(findings[2].name, "no-such-program-here");
  EXPECT_EQ(findings[2].text, "is not here or does not start");
  EXPECT_EQ(findings[3].name, "gzip");
}

TEST_F(DoctorTest, TheMachineIsReadFromProc) {
  Write("meminfo", "MemTotal: 8388608 kB\nMemAvailable:    4194304 kB\n");
  Write("loadavg", "0.50 0.4 0.3 1/100 7\n");
  Findings findings = CheckMachine(root_, root_, 2);
  EXPECT_EQ(findings[0].text, "4.0 GiB free");
  EXPECT_EQ(findings[0].level, Level::kOk);
  EXPECT_EQ(findings[2].text, "0.50 on 2 processors");
  EXPECT_EQ(findings[2].level, Level::kOk);
  Write("meminfo", "MemAvailable:    1048576 kB\n");
  Write("loadavg", "1.50 0.4 0.3 1/100 7\n");
  findings = CheckMachine(root_, "/no/such/folder", 2);
  EXPECT_EQ(findings[0].level, Level::kWarn);
  EXPECT_EQ(findings[1].level, Level::kFail);
  EXPECT_EQ(findings[2].level, Level::kWarn);
}

TEST_F(DoctorTest, ABuildIsHeldAgainstTheMatrix) {
  Project project;
  project.root = root_;
  const Json hello = {
      {"device", {{"class", "cpu"}, {"name", "Processor"}, {"levels", {"plain", "avx2"}}}},
      {"gates", {{{"name", "FG_B"}}, {{"name", "FG_A"}}}}};
  Findings findings = CheckBuild(project, SmallMatrix(), "cpu", hello);
  EXPECT_EQ(findings[0].text, "cannot be held against a commit");
  EXPECT_EQ(findings[1].text, "2, as the matrix names them");
  EXPECT_EQ(findings[2].text, "Processor; levels plain, avx2");
  EXPECT_EQ(findings[2].level, Level::kOk);
  findings = CheckBuild(
      project, SmallMatrix(), "cpu",
      {{"device", {{"class", "cpu"}, {"levels", {"plain"}}}}, {"gates", {{{"name", "FG_A"}}}}});
  EXPECT_EQ(findings[1].level, Level::kFail);
  EXPECT_EQ(findings[1].text, "the engine has [FG_A], the matrix names [FG_A, FG_B]");
  EXPECT_EQ(findings[2].level, Level::kWarn);
  findings = CheckBuild(project, SmallMatrix(), "sm_90", hello);
  EXPECT_EQ(findings[2].level, Level::kFail);
  EXPECT_EQ(findings[2].text, "the engine runs on class 'cpu', not on 'sm_90'");
}

TEST_F(DoctorTest, ADeviceIsOfTheClassAskedFor) {
  Project project;
  project.root = root_;
  Json hello = {{"device",
                 {{"class", "gpu"},
                  {"name", "Device"},
                  {"driver", "580.1"},
                  {"memory_bytes", int64_t{3} << 29},
                  {"native", true}}}};
  Findings findings = CheckBuild(project, SmallMatrix(), "gpu", hello);
  EXPECT_EQ(findings.back().text, "Device; driver 580.1; 1.5 GiB");
  EXPECT_EQ(findings.back().level, Level::kOk);
  hello["device"]["native"] = false;
  findings = CheckBuild(project, SmallMatrix(), "gpu", hello);
  EXPECT_EQ(findings.back().text,
            "Device; driver 580.1; 1.5 GiB; compiled when it starts, unproven");
  EXPECT_EQ(findings.back().level, Level::kWarn);
  findings = CheckBuild(project, SmallMatrix(), "cpu", hello);
  EXPECT_EQ(findings.back().text, "the engine runs on class 'gpu', not on 'cpu'");
  EXPECT_EQ(findings.back().level, Level::kFail);
}

TEST_F(DoctorTest, AVariantWithAnotherSumIsNamed) {
  Project project;
  project.root = root_;
  project.cache = "cache";
  EXPECT_EQ(CheckModels(project, SmallMatrix(), "cpu")[0].text, "f.gguf is missing");
  Write("f.gguf", "model");
  EXPECT_EQ(CheckModels(project, SmallMatrix(), "cpu")[0].text,
            "0 variants with the right sum, 2 that the first run makes");
  fs::create_directories(root_ + "/cache/models");
  Write("cache/models/a-1111111111111111.gguf", "another");
  const Findings findings = CheckModels(project, SmallMatrix(), "cpu");
  EXPECT_EQ(findings[0].name, "model a");
  EXPECT_EQ(findings[0].level, Level::kFail);
  EXPECT_EQ(findings[0].advice, "remove cache/models/a-1111111111111111.gguf");
}

TEST_F(DoctorTest, TheCommandLooksEvenWhereNothingIsRight) {
  std::ostringstream out, err;
  const auto run = [&](const std::vector<std::string>& arguments) {
    out.str("");
    err.str("");
    return RunCli(arguments, {"FG_MMQ=1"}, {.out = &out, .err = &err}, {});
  };
  // The variable is a finding here, not a refusal.
  EXPECT_EQ(run({"doctor", "--project", root_}), 2);
  EXPECT_EQ(err.str(), "");
  EXPECT_EQ(out.str(),
            "fail variables: FG_MMQ set here, which no run starts with; unset FG_MMQ\n"
            "fail project: --project " +
                root_ + ": holds no flipgate.yaml; go to the project's folder\n");
  EXPECT_EQ(run({"doctor", "--project", root_, "--json"}), 2);
  EXPECT_EQ(Json::parse(out.str())["findings"][0]["level"], "fail");
  EXPECT_EQ(Json::parse(out.str())["exit"], 2);
  EXPECT_EQ(run({"list", "--project", root_}), 2);
  EXPECT_THAT(err.str(), HasSubstr("FG_MMQ is set in this environment"));
}

}  // namespace
}  // namespace flipgate
