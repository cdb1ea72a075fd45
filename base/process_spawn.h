// Fork and exec behind ChildProcess: the one place that starts processes.
#pragma once

#include <sys/types.h>

#include "base/process.h"
#include "base/status.h"

namespace fg {

// Owns a file descriptor; -1 for none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { Close(); }

  void Close();
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// A child that has passed exec, leader of its own process group, and this side's ends of its pipes
// (non-blocking).
struct SpawnedChild {
  pid_t pid = -1;
  Descriptor in, out, err;
};

// Runs on the spawning thread; see ChildProcess. kIo "PROGRAM: cannot start: REASON".
Result<SpawnedChild> Spawn(const ProcessSpec& spec);

// To be called before a child is reaped: its group is killed no more by KillChildrenOnSignals().
void ForgetGroup(pid_t pid);

}  // namespace fg
