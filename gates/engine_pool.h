// Resident engine processes, one per (arm, variables, model), shared by cells: at most `capacity`,
// the least recently used leaving first. A lease is exclusive. A cell holds one lease at a time:
// two at once could wait for each other for ever.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gates/engine_client.h"

namespace flipgate {

struct EngineKey {
  std::string arm;
  Variables variables;  // all that is set beside the passed ones
  std::string model;    // path; "" for none loaded
  bool operator==(const EngineKey&) const = default;
};

// What a resident process said of itself.
struct ResidentEngine {
  EngineKey key;
  std::unique_ptr<EngineClient> client;
  fg::Json hello, load;    // answers; load is null without a model
  fg::Json memory_before;  // memory's answer before load
  bool leased = false;
  uint64_t last_used = 0;
};

class EnginePool;

// Exclusive use of one engine; gives it back when it goes.
class EngineLease {
 public:
  EngineLease(EnginePool* pool, ResidentEngine* engine) : pool_(pool), engine_(engine) {}
  EngineLease(EngineLease&& other) noexcept;
  EngineLease& operator=(EngineLease&& other) noexcept;
  ~EngineLease();
  const ResidentEngine& engine() const { return *engine_; }
  Asked Ask(const fg::Json& request, fg::Deadline deadline) {
    return engine_->client->Ask(request, deadline);
  }

 private:
  EnginePool* pool_;
  ResidentEngine* engine_;
};

class EnginePool {
 public:
  // `commands` per arm; `passed` is the start of every environment ("NAME=value").
  EnginePool(std::vector<EngineCommand> commands, std::vector<std::string> passed, size_t capacity);
  ~EnginePool();

  // The resident engine of `key`, started and loaded where there is none, after a `reset`. On
  // failure `failure` says what an ask met.
  fg::Result<EngineLease> Acquire(const EngineKey& key, fg::Deadline deadline, Asked* failure) {
    return Lease(key, deadline, false, failure);
  }
  // Like Acquire, but always a new process that is gone with the lease.
  fg::Result<EngineLease> Fresh(const EngineKey& key, fg::Deadline deadline, Asked* failure) {
    return Lease(key, deadline, true, failure);
  }

  // A process of the key's arm and variables that the pool does not keep: `prefix` before the arm's
  // command (a tool that runs it), nothing asked of it yet. The key's model is not loaded.
  fg::Result<std::unique_ptr<EngineClient>> StartUnder(const std::vector<std::string>& prefix,
                                                       const EngineKey& key) const;

  size_t started() const;  // processes started so far

 private:
  friend class EngineLease;
  fg::Result<EngineLease> Lease(const EngineKey& key, fg::Deadline deadline, bool fresh,
                                Asked* failure);
  void Return(ResidentEngine* engine);
  fg::Result<ResidentEngine*> Occupy(const EngineKey& key, fg::Deadline deadline, bool fresh);
  bool EvictOneLocked();
  fg::Status Bring(ResidentEngine* engine, fg::Deadline deadline, Asked* failure);
  fg::Result<EngineCommand> CommandOf(const std::string& arm) const;
  std::vector<std::string> EnvironmentOf(const EngineKey& key) const;
  void Discard(ResidentEngine* engine);

  const std::vector<EngineCommand> commands_;
  const std::vector<std::string> passed_;
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<ResidentEngine> engines_;  // a list: leases point into it
  uint64_t clock_ = 0;
  size_t started_ = 0;
};

}  // namespace flipgate
