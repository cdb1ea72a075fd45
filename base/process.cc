#include "base/process.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/process_spawn.h"

namespace fg {
namespace {

using std::chrono::milliseconds;

constexpr size_t kUnreadLimit = size_t{64} << 20;

int PollMilliseconds(Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60000));
}

bool Passed(Deadline deadline) { return std::chrono::steady_clock::now() >= deadline; }

// Appends what can be read now to `to`; closes `fd` at its end.
bool ReadAvailable(Descriptor* fd, std::string* to) {
  char buffer[1 << 16];
  const ssize_t got = ::read(fd->get(), buffer, sizeof buffer);
  if (got > 0) {
    to->append(buffer, static_cast<size_t>(got));
    return true;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  fd->Close();
  return false;
}

ExitStatus FromWaitStatus(int status) {
  ExitStatus exit;
  if (WIFSIGNALED(status)) {
    exit.signal = WTERMSIG(status);
  } else {
    exit.code = WEXITSTATUS(status);
  }
  return exit;
}

}  // namespace

Deadline After(milliseconds time) { return std::chrono::steady_clock::now() + time; }

std::string SignalName(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

std::string ExitStatus::Text() const {
  if (signal == 0) return "exit code " + std::to_string(code);
  const std::string name = SignalName(signal);
  return name.starts_with("signal") ? name : "signal " + name;
}

struct ChildProcess::Impl {
  SpawnedChild child;
  std::string program;
  size_t stderr_kept;
  std::string unread;  // standard output not yet handed out
  size_t scanned = 0;  // bytes of `unread` known to hold no newline
  bool too_long = false;
  bool drop_output = false;  // RunProcess and Wait past their limits
  std::string stderr_tail;
  std::optional<ExitStatus> exit;

  void KeepStderrTail() {
    if (stderr_tail.size() > stderr_kept) stderr_tail.erase(0, stderr_tail.size() - stderr_kept);
  }

  // Waits for something to happen, at the longest until `deadline`, and takes in what came. With
  // `pending` the child's input is filled from it. False when nothing happened in time.
  bool Pump(Deadline deadline, std::string_view* pending = nullptr,
            size_t unread_limit = kUnreadLimit) {
    pollfd fds[3];
    nfds_t count = 0;
    const auto watch = [&](const Descriptor& fd, short events) {
      fds[count] = {fd.get(), events, 0};
      return count++;
    };
    const bool reading = child.out.open() && (drop_output || unread.size() <= unread_limit);
    const bool writing = pending != nullptr && !pending->empty() && child.in.open();
    const nfds_t out = reading ? watch(child.out, POLLIN) : 3;
    const nfds_t err = child.err.open() ? watch(child.err, POLLIN) : 3;
    const nfds_t in = writing ? watch(child.in, POLLOUT) : 3;
    if (::poll(fds, count, PollMilliseconds(deadline)) <= 0) return false;
    if (out < 3 && fds[out].revents != 0) {
      ReadAvailable(&child.out, &unread);
      if (drop_output && unread.size() > unread_limit) unread.resize(unread_limit);
    }
    if (err < 3 && fds[err].revents != 0) {
      ReadAvailable(&child.err, &stderr_tail);
      KeepStderrTail();
    }
    if (in < 3 && fds[in].revents != 0) WriteSome(pending);
    return true;
  }

  void WriteSome(std::string_view* pending) {
    const ssize_t written = ::write(child.in.get(), pending->data(), pending->size());
    if (written >= 0) {
      pending->remove_prefix(static_cast<size_t>(written));
    } else if (errno != EAGAIN && errno != EINTR) {
      child.in.Close();
    }
  }

  // The group is killed while the dead leader still holds its number: nothing it started outlives
  // it, and no stranger that took the number is hit.
  bool TryReap(int options) {
    if (exit) return true;
    siginfo_t info = {};
    while (::waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOWAIT | options) < 0) {
      if (errno != EINTR) break;
    }
    if (info.si_pid == 0) return false;
    ForgetGroup(child.pid);
    ::kill(-child.pid, SIGKILL);
    int status = 0;
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    exit = FromWaitStatus(status);
    return true;
  }

  // What still lies in the pipes after the end.
  void DrainNow(size_t unread_limit = kUnreadLimit) {
    while (child.out.open() && unread.size() <= unread_limit &&
           ReadAvailable(&child.out, &unread)) {
    }
    DrainStderr();
  }

  void DrainStderr() {
    while (child.err.open() && ReadAvailable(&child.err, &stderr_tail)) KeepStderrTail();
    KeepStderrTail();
  }

  // Reaped before the deadline? Poll wakes on output and on its end; the pause grows while nothing
  // comes.
  bool AwaitExit(Deadline deadline, std::string_view* pending, size_t unread_limit) {
    milliseconds pause(1);
    while (!TryReap(WNOHANG)) {
      if (Passed(deadline)) return false;
      const bool moved = Pump(std::min(deadline, After(pause)), pending, unread_limit);
      pause = moved ? milliseconds(1) : std::min(pause * 2, milliseconds(20));
      if (pending != nullptr && pending->empty()) child.in.Close();
      if (!drop_output && unread.size() > unread_limit) return false;
    }
    return true;
  }

  ExitStatus Kill() {
    if (!exit) {
      ::kill(-child.pid, SIGKILL);
      TryReap(0);
    }
    return *exit;
  }
};

ChildProcess::ChildProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ChildProcess::~ChildProcess() { impl_->Kill(); }

Result<std::unique_ptr<ChildProcess>> ChildProcess::Start(const ProcessSpec& spec) {
  FG_ASSIGN_OR_RETURN(SpawnedChild child, Spawn(spec));
  auto impl = std::make_unique<Impl>();
  impl->child = std::move(child);
  impl->program = spec.argv[0];
  impl->stderr_kept = spec.stderr_kept;
  return std::unique_ptr<ChildProcess>(new ChildProcess(std::move(impl)));
}

Status ChildProcess::WriteLine(std::string_view line, Deadline deadline) {
  const std::string text = std::string(line) + "\n";
  std::string_view pending = text;
  while (!pending.empty()) {
    if (!impl_->child.in.open()) {
      return Status(ErrorKind::kIo, impl_->program + ": closed its standard input");
    }
    if (!impl_->Pump(deadline, &pending) && Passed(deadline)) {
      return Status(ErrorKind::kIo, impl_->program + ": did not take its input in time");
    }
  }
  return Status::Ok();
}

LineRead ChildProcess::ReadLine(Deadline deadline, size_t limit) {
  Impl& impl = *impl_;
  for (;;) {
    if (impl.too_long) return {LineRead::State::kTooLong, ""};
    const size_t newline = impl.unread.find('\n', impl.scanned);
    impl.scanned = impl.unread.size();
    if (std::min(newline, impl.unread.size()) > limit) {
      impl.too_long = true;
      impl.unread.clear();
      continue;
    }
    if (newline != std::string::npos) {
      std::string line = impl.unread.substr(0, newline);
      impl.unread.erase(0, newline + 1);
      impl.scanned = 0;
      return {LineRead::State::kLine, std::move(line)};
    }
    if (!impl.child.out.open()) {
      impl.scanned = 0;
      const auto state = impl.unread.empty() ? LineRead::State::kEnd : LineRead::State::kPartial;
      return {state, std::exchange(impl.unread, "")};
    }
    if (!impl.Pump(deadline, nullptr, limit) && Passed(deadline)) {
      return {LineRead::State::kTimeout, impl.unread};
    }
  }
}

void ChildProcess::CloseInput() { impl_->child.in.Close(); }

std::optional<ExitStatus> ChildProcess::Wait(Deadline deadline) {
  impl_->drop_output = true;
  const bool ended = impl_->AwaitExit(deadline, nullptr, kUnreadLimit);
  impl_->drop_output = false;
  if (!ended) return std::nullopt;
  impl_->DrainNow();
  return impl_->exit;
}

ExitStatus ChildProcess::Kill() {
  const ExitStatus exit = impl_->Kill();
  impl_->DrainNow();
  return exit;
}

ExitStatus ChildProcess::Terminate(milliseconds grace) {
  if (!impl_->TryReap(WNOHANG)) ::kill(-impl_->child.pid, SIGTERM);
  Wait(After(grace));
  return Kill();
}

std::string ChildProcess::StderrTail() {
  impl_->DrainStderr();
  return impl_->stderr_tail;
}

pid_t ChildProcess::pid() const { return impl_->child.pid; }

Result<ProcessOutput> RunProcess(const ProcessSpec& spec, const RunProcessOptions& options) {
  FG_ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> child, ChildProcess::Start(spec));
  ChildProcess::Impl& impl = *child->impl_;
  std::string_view pending = options.input;
  if (pending.empty()) impl.child.in.Close();
  const bool ended = impl.AwaitExit(After(options.timeout), &pending, options.output_limit);
  ProcessOutput output;
  output.timed_out = !ended && impl.unread.size() <= options.output_limit;
  output.exit = impl.Kill();
  impl.DrainNow(options.output_limit);
  if (impl.unread.size() > options.output_limit) {
    return Status(ErrorKind::kIo, spec.argv[0] + ": wrote more than " +
                                      std::to_string(options.output_limit) +
                                      " bytes to its standard output");
  }
  output.out = std::move(impl.unread);
  output.err = child->StderrTail();
  return output;
}

std::vector<std::string> PassedEnvironment(const std::vector<std::string>& names) {
  std::vector<std::string> environment;
  for (const std::string& name : names) {
    const char* value = std::getenv(name.c_str());
    if (value != nullptr) environment.push_back(name + "=" + value);
  }
  return environment;
}

}  // namespace fg
