#include "base/process_spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

namespace fg {
namespace {

// Groups of running children, for the signal handler: only atomics, no lock.
std::array<std::atomic<pid_t>, 256> g_groups{};

void RememberGroup(pid_t pid) {
  for (std::atomic<pid_t>& slot : g_groups) {
    pid_t empty = 0;
    if (slot.compare_exchange_strong(empty, pid)) return;
  }
}

extern "C" void KillGroupsAndDie(int signal) {
  for (std::atomic<pid_t>& slot : g_groups) {
    const pid_t pid = slot.load();
    if (pid > 0) ::kill(-pid, SIGKILL);
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

struct Pipe {
  Descriptor read, write;
};

// Both ends close on exec and lie above the standard descriptors, which the caller may have closed.
Status MakePipe(Pipe* pipe) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return Status(ErrorKind::kIo, std::strerror(errno));
  Descriptor ends[2] = {Descriptor(fds[0]), Descriptor(fds[1])};
  for (Descriptor& end : ends) {
    if (end.get() > STDERR_FILENO) continue;
    const int moved = ::fcntl(end.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (moved < 0) return Status(ErrorKind::kIo, std::strerror(errno));
    end = Descriptor(moved);
  }
  pipe->read = std::move(ends[0]);
  pipe->write = std::move(ends[1]);
  return Status::Ok();
}

void SetNonBlocking(const Descriptor& fd) {
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

std::string ValueOf(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "";
}

// A name without '/' is looked up in the PATH that the child will see.
std::string FindProgram(const ProcessSpec& spec) {
  const std::string& name = spec.argv[0];
  if (name.find('/') != std::string::npos) return std::filesystem::absolute(name).string();
  std::string path = ValueOf(spec.environment, "PATH");
  if (path.empty()) path = "/usr/bin:/bin";
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find(':', start), path.size());
    const std::string candidate = path.substr(start, end - start) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    start = end + 1;
  }
  return name;  // exec will say ENOENT
}

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// All that the child needs between fork and exec, where nothing may allocate.
struct ChildPlan {
  const char* program;
  const char* folder;  // nullptr: stay
  char* const* argv;
  char* const* environment;
  int in, out, err, failure;
  pid_t parent;
};

[[noreturn]] void BecomeProgram(const ChildPlan& plan) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(127);  // the parent died before prctl
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);  // what others forgot to mark
  const bool ready = ::dup2(plan.in, STDIN_FILENO) >= 0 && ::dup2(plan.out, STDOUT_FILENO) >= 0 &&
                     ::dup2(plan.err, STDERR_FILENO) >= 0 &&
                     (plan.folder == nullptr || ::chdir(plan.folder) == 0);
  if (ready) ::execve(plan.program, plan.argv, plan.environment);
  const int reason = errno;
  while (::write(plan.failure, &reason, sizeof reason) < 0 && errno == EINTR) {
  }
  ::_exit(127);
}

// 0 when exec succeeded (the pipe closed without a word), else errno of the child.
int AwaitExec(const Descriptor& failure) {
  int reason = 0;
  ssize_t got;
  do {
    got = ::read(failure.get(), &reason, sizeof reason);
  } while (got < 0 && errno == EINTR);
  return got == sizeof reason ? reason : 0;
}

Status CannotStart(const ProcessSpec& spec, const std::string& reason) {
  return Status(ErrorKind::kIo, spec.argv[0] + ": cannot start: " + reason);
}

Result<SpawnedChild> SpawnHere(const ProcessSpec& spec) {
  Pipe in, out, err, failure;
  for (Pipe* pipe : {&in, &out, &err, &failure}) {
    if (const Status made = MakePipe(pipe); !made.ok()) return CannotStart(spec, made.message());
  }
  const std::string program = FindProgram(spec);
  const std::vector<char*> argv = Pointers(spec.argv), environment = Pointers(spec.environment);
  const ChildPlan plan = {program.c_str(), spec.folder.empty() ? nullptr : spec.folder.c_str(),
                          argv.data(),     environment.data(),
                          in.read.get(),   out.write.get(),
                          err.write.get(), failure.write.get(),
                          ::getpid()};
  const pid_t pid = ::fork();
  if (pid == 0) BecomeProgram(plan);
  if (pid < 0) return CannotStart(spec, std::strerror(errno));
  failure.write.Close();
  if (const int reason = AwaitExec(failure.read); reason != 0) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return CannotStart(spec, std::strerror(reason));
  }
  RememberGroup(pid);
  for (const Descriptor* end : {&in.write, &out.read, &err.read}) SetNonBlocking(*end);
  return SpawnedChild{pid, std::move(in.write), std::move(out.read), std::move(err.read)};
}

// The thread that creates all children. It never ends before the process does: the parent-death
// signal is sent when the creating THREAD ends, so a worker thread must not be the one.
class SpawningThread {
 public:
  // Never destroyed, on purpose. A forked process has no copy of the thread and starts its own.
  static SpawningThread& Get() {
    static std::atomic<SpawningThread*> current{nullptr};
    static std::mutex mutex;
    const std::lock_guard<std::mutex> lock(mutex);
    if (current == nullptr || current.load()->owner_ != ::getpid()) current = new SpawningThread;
    return *current;
  }

  Result<SpawnedChild> Run(const ProcessSpec& spec) {
    const std::lock_guard<std::mutex> one_at_a_time(callers_);
    std::promise<Result<SpawnedChild>> answer;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      spec_ = &spec;
      answer_ = &answer;
    }
    wake_.notify_one();
    return answer.get_future().get();
  }

 private:
  SpawningThread() {
    ::signal(SIGPIPE, SIG_IGN);  // a child that closed its input is a Status, not our death
    std::thread([this] { Loop(); }).detach();
  }

  void Loop() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [this] { return spec_ != nullptr; });
      const ProcessSpec& spec = *std::exchange(spec_, nullptr);
      answer_->set_value(SpawnHere(spec));
    }
  }

  const pid_t owner_ = ::getpid();
  std::mutex callers_, mutex_;
  std::condition_variable wake_;
  const ProcessSpec* spec_ = nullptr;
  std::promise<Result<SpawnedChild>>* answer_ = nullptr;
};

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void Descriptor::Close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<SpawnedChild> Spawn(const ProcessSpec& spec) {
  if (spec.argv.empty()) return Status(ErrorKind::kInternal, "a process without a program");
  return SpawningThread::Get().Run(spec);
}

void ForgetGroup(pid_t pid) {
  for (std::atomic<pid_t>& slot : g_groups) {
    pid_t expected = pid;
    if (slot.compare_exchange_strong(expected, 0)) return;
  }
}

void KillChildrenOnSignals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, KillGroupsAndDie);
}

}  // namespace fg
