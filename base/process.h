// Child processes: resident ones that are spoken with line by line, and one-shot ones. No zombie,
// no descriptor leak, no call without a deadline that a misbehaving child could hold for ever.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fg {

using Deadline = std::chrono::steady_clock::time_point;
// Now plus `time`.
Deadline After(std::chrono::milliseconds time);

struct ProcessSpec {
  std::vector<std::string> argv;              // argv[0] is a path, or a name looked up in this PATH
  std::vector<std::string> environment = {};  // "NAME=value", all that the child sees
  std::string folder = {};                    // working folder; "" is this process's own
  size_t stderr_kept = 64 << 10;              // last bytes of standard error that are kept
};

// How a process ended: an exit code, or a signal.
struct ExitStatus {
  int code = 0;    // meaningful when signal is 0
  int signal = 0;  // 0: it exited by itself
  bool ok() const { return code == 0 && signal == 0; }
  // "exit code 3" or "signal SIGSEGV".
  std::string Text() const;
};

// "SIGSEGV"; "signal 77" for a number without a name.
std::string SignalName(int signal);

// One line read from a child, or why there is none.
struct LineRead {
  enum class State {
    kLine,     // `text` is the line without its newline
    kEnd,      // standard output was closed after whole lines
    kPartial,  // standard output was closed in the middle of a line; `text` is the part
    kTimeout,  // the deadline passed; `text` is what has come of the line so far, and stays to be
               // read
    kTooLong,  // more than the limit without a newline; `text` is empty and the child is of no more
               // use
  };
  State state = State::kEnd;
  std::string text;
};

// A running child in a process group of its own. All calls from one thread at a time. Every call
// that waits also drains both outputs, so a chatty child never blocks on a full pipe while it is
// waited for. The child dies with this process (PR_SET_PDEATHSIG, held by a thread that lives as
// long as the process, for the signal is sent when the creating thread ends).
class ChildProcess {
 public:
  // kIo "PROGRAM: cannot start: No such file or directory", also when exec fails.
  static Result<std::unique_ptr<ChildProcess>> Start(const ProcessSpec& spec);
  // Kills what still runs and reaps it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Writes `line` and a newline. kIo when the child no longer reads ("... closed its standard
  // input") or the deadline passed ("... did not take its input in time").
  Status WriteLine(std::string_view line, Deadline deadline);
  // The next line of standard output of at most `limit` bytes.
  LineRead ReadLine(Deadline deadline, size_t limit = size_t{64} << 20);
  // Closes the child's standard input.
  void CloseInput();

  // Waits until the child ended and was reaped; nothing when the deadline passed. Output that comes
  // meanwhile stays readable, up to 64 MiB; the rest is dropped.
  std::optional<ExitStatus> Wait(Deadline deadline);
  // SIGKILL to the whole group, then reaps. Returns how the child ended (perhaps before).
  ExitStatus Kill();
  // SIGTERM, `grace`, then Kill().
  ExitStatus Terminate(std::chrono::milliseconds grace);

  // The last bytes of standard error so far, drained without waiting.
  std::string StderrTail();
  pid_t pid() const;

 private:
  struct Impl;
  explicit ChildProcess(std::unique_ptr<Impl> impl);
  friend Result<struct ProcessOutput> RunProcess(const ProcessSpec&,
                                                 const struct RunProcessOptions&);
  std::unique_ptr<Impl> impl_;
};

struct RunProcessOptions {
  std::chrono::milliseconds timeout{60000};
  std::string input = {};           // standard input
  size_t output_limit = 256 << 20;  // bytes of standard output kept; more is an error
};

struct ProcessOutput {
  ExitStatus exit;
  std::string out;
  std::string err;         // the last `stderr_kept` bytes
  bool timed_out = false;  // it was killed at the time limit
};

// Runs a program to its end. kIo when it cannot start or writes more than `output_limit`; a failing
// exit code and a time limit are no error here.
Result<ProcessOutput> RunProcess(const ProcessSpec& spec, const RunProcessOptions& options = {});

// After this, SIGINT, SIGTERM and SIGHUP kill the groups of all running children before they end
// this process.
void KillChildrenOnSignals();

// NAME=value for each of `names` that is set in this process's environment: the start of an
// explicit environment.
std::vector<std::string> PassedEnvironment(const std::vector<std::string>& names);

}  // namespace fg
