#include "base/process.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <fstream>
#include <thread>

namespace fg {
namespace {

using std::chrono::milliseconds;
using State = LineRead::State;

constexpr milliseconds kLong(20000);

ProcessSpec Shell(const std::string& script) {
  return {.argv = {"/bin/sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}};
}

std::unique_ptr<ChildProcess> StartShell(const std::string& script) {
  auto child = ChildProcess::Start(Shell(script));
  EXPECT_TRUE(child.ok()) << child.status().message();
  return std::move(child).value();
}

std::string NextLine(ChildProcess* child) {
  const LineRead read = child->ReadLine(After(kLong));
  EXPECT_EQ(read.state, State::kLine) << read.text;
  return read.text;
}

size_t OpenDescriptors() {
  size_t count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

// A zombie that its new parent has not collected yet counts as dead.
bool Alive(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return stat >> number >> name >> state && state != "Z";
}

bool DiesSoon(pid_t pid) {
  for (int i = 0; i < 1000 && Alive(pid); ++i) std::this_thread::sleep_for(milliseconds(5));
  return !Alive(pid);
}

TEST(ChildProcess, AnswersLineByLine) {
  auto child = StartShell("while read -r line; do echo \"<$line>\"; done");
  for (const char* word : {"one", "two", ""}) {
    ASSERT_TRUE(child->WriteLine(word, After(kLong)).ok());
    EXPECT_EQ(NextLine(child.get()), std::string("<").append(word).append(">"));
  }
  child->CloseInput();
  EXPECT_EQ(child->ReadLine(After(kLong)).state, State::kEnd);
  const auto exit = child->Wait(After(kLong));
  ASSERT_TRUE(exit.has_value());
  EXPECT_TRUE(exit->ok());
}

TEST(ChildProcess, SeesItsOwnEnvironmentAndFolderOnly) {
  ::setenv("FG_PROCESS_TEST_LEAK", "1", 1);
  ProcessSpec spec = Shell("pwd; echo \"$A:$FG_PROCESS_TEST_LEAK\"");
  spec.environment.push_back("A=b");
  spec.folder = "/usr";
  auto child = ChildProcess::Start(spec);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(NextLine(child->get()), "/usr");
  EXPECT_EQ(NextLine(child->get()), "b:");
  ::unsetenv("FG_PROCESS_TEST_LEAK");
}

TEST(ChildProcess, AMissingProgramSaysSo) {
  const auto child = ChildProcess::Start({.argv = {"/no/such/engine"}});
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.status().kind(), ErrorKind::kIo);
  EXPECT_EQ(child.status().message(), "/no/such/engine: cannot start: No such file or directory");
  EXPECT_EQ(RunProcess({.argv = {"/etc/passwd"}}).status().message(),
            "/etc/passwd: cannot start: Permission denied");
  ProcessSpec lost = Shell("true");
  lost.folder = "/no/such/folder";
  EXPECT_EQ(ChildProcess::Start(lost).status().message(),
            "/bin/sh: cannot start: No such file or directory");
}

TEST(ChildProcess, ALineIsNotSeenBeforeItsEnd) {
  auto child = StartShell("printf 'half'; read -r go; echo ' whole'; printf 'cut'");
  const LineRead early = child->ReadLine(After(milliseconds(200)));
  EXPECT_EQ(early.state, State::kTimeout);
  EXPECT_EQ(early.text, "half");
  ASSERT_TRUE(child->WriteLine("go", After(kLong)).ok());
  EXPECT_EQ(NextLine(child.get()), "half whole");
  const LineRead cut = child->ReadLine(After(kLong));
  EXPECT_EQ(cut.state, State::kPartial);
  EXPECT_EQ(cut.text, "cut");
  EXPECT_EQ(child->ReadLine(After(kLong)).state, State::kEnd);
}

TEST(ChildProcess, ALineOverTheLimitIsRefused) {
  auto child = StartShell("echo 12345; echo 123456; echo 1");
  EXPECT_EQ(child->ReadLine(After(kLong), 5).text, "12345");
  EXPECT_EQ(child->ReadLine(After(kLong), 5).state, State::kTooLong);
  EXPECT_EQ(child->ReadLine(After(kLong), 5).state, State::kTooLong);
}

TEST(ChildProcess, AnEndlessLineIsRefusedInBoundedMemory) {
  auto child = StartShell("cat /dev/zero");
  EXPECT_EQ(child->ReadLine(After(kLong), 1 << 20).state, State::kTooLong);
  EXPECT_EQ(child->Kill().signal, SIGKILL);
}

TEST(ChildProcess, AClosedStandardOutputIsNoHang) {
  auto child = StartShell("exec >&-; sleep 60");
  EXPECT_EQ(child->ReadLine(After(kLong)).state, State::kEnd);
  EXPECT_FALSE(child->Wait(After(milliseconds(50))).has_value());
  EXPECT_EQ(child->Kill().Text(), "signal SIGKILL");
}

TEST(ChildProcess, ADeadChildSaysHowAndWhatItSaidLast) {
  auto child = StartShell("echo 'nearly done' >&2; kill -SEGV $$");
  EXPECT_EQ(child->ReadLine(After(kLong)).state, State::kEnd);
  const auto exit = child->Wait(After(kLong));
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->Text(), "signal SIGSEGV");
  EXPECT_FALSE(exit->ok());
  EXPECT_EQ(child->StderrTail(), "nearly done\n");
  const Status write = child->WriteLine("more", After(kLong));
  EXPECT_EQ(write.kind(), ErrorKind::kIo);
  EXPECT_EQ(write.message(), "/bin/sh: closed its standard input");
}

TEST(ChildProcess, AnExitCodeIsKept) {
  auto child = StartShell("exit 7");
  EXPECT_EQ(child->Wait(After(kLong))->Text(), "exit code 7");
  EXPECT_EQ(child->Kill().code, 7);
}

TEST(ChildProcess, AChattyChildNeverBlocks) {
  // 8 MiB on standard error before each answer, far more than a pipe holds.
  auto child = StartShell(
      "while read -r l; do head -c 8388608 /dev/zero | tr '\\0' e >&2; echo end >&2; echo $l; "
      "done");
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(child->WriteLine("x", After(kLong)).ok());
    EXPECT_EQ(NextLine(child.get()), "x");
  }
  child->CloseInput();
  ASSERT_TRUE(child->Wait(After(kLong)).has_value());
  const std::string tail = child->StderrTail();
  EXPECT_EQ(tail.size(), size_t{64} << 10);
  EXPECT_TRUE(tail.ends_with("eend\n"));
}

TEST(ChildProcess, WritingWaitsForNobodyForEver) {
  auto child = StartShell("sleep 60");
  const Status status = child->WriteLine(std::string(1 << 20, 'x'), After(milliseconds(100)));
  EXPECT_EQ(status.message(), "/bin/sh: did not take its input in time");
}

TEST(ChildProcess, ALongLineBothWays) {
  // The child echoes while we still write: neither side may wait for the other.
  auto child = StartShell("cat");
  const std::string line(3 << 20, 'y');
  ASSERT_TRUE(child->WriteLine(line, After(kLong)).ok());
  EXPECT_EQ(NextLine(child.get()), line);
}

TEST(ChildProcess, ASignalThatIsIgnoredIsFollowedByOneThatIsNot) {
  auto child = StartShell("trap '' TERM; echo ready; while :; do sleep 0.05; done");
  EXPECT_EQ(NextLine(child.get()), "ready");
  EXPECT_EQ(child->Terminate(milliseconds(100)).Text(), "signal SIGKILL");
  auto polite = StartShell("trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done");
  EXPECT_EQ(NextLine(polite.get()), "ready");
  EXPECT_EQ(polite->Terminate(kLong).Text(), "exit code 5");
}

TEST(ChildProcess, GrandchildrenDieWithTheGroup) {
  auto child = StartShell("sleep 60 & echo $!; wait");
  const pid_t grandchild = std::stoi(NextLine(child.get()));
  child.reset();
  EXPECT_TRUE(DiesSoon(grandchild));
}

TEST(ChildProcess, LivesOnWhenItsStartingThreadEnds) {
  std::unique_ptr<ChildProcess> child;
  std::thread([&] { child = StartShell("while read -r l; do echo $l; done"); }).join();
  std::this_thread::sleep_for(milliseconds(50));
  ASSERT_TRUE(child->WriteLine("still here", After(kLong)).ok());
  EXPECT_EQ(NextLine(child.get()), "still here");
}

TEST(ChildProcess, DiesWithThisProcess) {
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    auto child = ChildProcess::Start(Shell("sleep 60"));
    const pid_t pid = child.ok() ? (*child)->pid() : 0;
    if (::write(pipe_fds[1], &pid, sizeof pid) < 0) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  pid_t grandchild = 0;
  ASSERT_EQ(::read(pipe_fds[0], &grandchild, sizeof grandchild), ssize_t{sizeof grandchild});
  ::waitpid(parent, nullptr, 0);
  ASSERT_GT(grandchild, 0);
  EXPECT_TRUE(DiesSoon(grandchild));
  ::close(pipe_fds[0]);
  ::close(pipe_fds[1]);
}

TEST(ChildProcess, LeavesNoDescriptorAndNoZombie) {
  StartShell("true")->Wait(After(kLong));
  const size_t before = OpenDescriptors();
  for (int i = 0; i < 20; ++i) StartShell("cat");
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(ChildProcess, AChildHoldsNoDescriptorOfASibling) {
  auto first = StartShell("cat; echo over");
  auto second = StartShell("cat");
  first->CloseInput();  // would not end if the second held the pipe
  EXPECT_EQ(NextLine(first.get()), "over");
}

TEST(RunProcess, GivesOutputErrorAndCode) {
  const auto run = RunProcess(Shell("cat; echo note >&2; exit 3"),
                              {.timeout = kLong, .input = std::string("a\0b", 3)});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->out, std::string("a\0b", 3));
  EXPECT_EQ(run->err, "note\n");
  EXPECT_EQ(run->exit.Text(), "exit code 3");
  EXPECT_FALSE(run->timed_out);
}

TEST(RunProcess, PassesMuchInBothDirections) {
  const std::string input(5 << 20, 'z');
  const auto run = RunProcess(Shell("cat"), {.timeout = kLong, .input = input});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->out, input);
}

TEST(RunProcess, IgnoresInputThatNobodyReads) {
  const auto run =
      RunProcess(Shell("exit 0"), {.timeout = kLong, .input = std::string(1 << 20, 'z')});
  ASSERT_TRUE(run.ok());
  EXPECT_TRUE(run->exit.ok());
}

TEST(RunProcess, StopsAtTheTimeLimitAndAtTheOutputLimit) {
  const auto slow = RunProcess(Shell("echo begun; sleep 60"), {.timeout = milliseconds(200)});
  ASSERT_TRUE(slow.ok());
  EXPECT_TRUE(slow->timed_out);
  EXPECT_EQ(slow->out, "begun\n");
  EXPECT_EQ(slow->exit.Text(), "signal SIGKILL");
  const auto loud = RunProcess(Shell("cat /dev/zero"), {.timeout = kLong, .output_limit = 1000});
  EXPECT_EQ(loud.status().message(), "/bin/sh: wrote more than 1000 bytes to its standard output");
}

TEST(RunProcess, LooksNamesUpInTheChildsPath) {
  const auto run =
      RunProcess({.argv = {"echo", "hi"}, .environment = {"PATH=/nowhere:/usr/bin:/bin"}});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->out, "hi\n");
  EXPECT_EQ(RunProcess({.argv = {"echo"}, .environment = {"PATH=/nowhere"}}).status().message(),
            "echo: cannot start: No such file or directory");
}

TEST(KillChildrenOnSignals, TakesTheChildrenAlong) {
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    KillChildrenOnSignals();
    auto child = StartShell("sleep 60 & echo $!; wait");
    const pid_t grandchild = std::stoi(child->ReadLine(After(kLong)).text);
    if (::write(pipe_fds[1], &grandchild, sizeof grandchild) < 0) ::_exit(1);
    for (;;) ::pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(::read(pipe_fds[0], &grandchild, sizeof grandchild), ssize_t{sizeof grandchild});
  ::kill(parent, SIGTERM);
  int status = 0;
  ::waitpid(parent, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_TRUE(DiesSoon(grandchild));
  ::close(pipe_fds[0]);
  ::close(pipe_fds[1]);
}

TEST(PassedEnvironment, TakesOnlyWhatIsSetAndAskedFor) {
  ::setenv("PROCESS_TEST_A", "1", 1);
  ::unsetenv("PROCESS_TEST_B");
  EXPECT_EQ(PassedEnvironment({"PROCESS_TEST_A", "PROCESS_TEST_B"}),
            std::vector<std::string>{"PROCESS_TEST_A=1"});
  ::unsetenv("PROCESS_TEST_A");
}

TEST(SignalName, KnowsNamesAndNumbers) {
  EXPECT_EQ(SignalName(SIGABRT), "SIGABRT");
  EXPECT_EQ(SignalName(64), "signal 64");
}

}  // namespace
}  // namespace fg
