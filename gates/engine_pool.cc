#include "gates/engine_pool.h"

#include <algorithm>

namespace flipgate {
namespace {

// A resident process is taken out of the list for good when its lease ends.
constexpr uint64_t kNeverAgain = UINT64_MAX;

}  // namespace

EngineLease::EngineLease(EngineLease&& other) noexcept
    : pool_(other.pool_), engine_(std::exchange(other.engine_, nullptr)) {}

EngineLease& EngineLease::operator=(EngineLease&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(engine_, other.engine_);
  return *this;
}

EngineLease::~EngineLease() {
  if (engine_ != nullptr) pool_->Return(engine_);
}

EnginePool::EnginePool(std::vector<EngineCommand> commands, std::vector<std::string> passed,
                       size_t capacity)
    : commands_(std::move(commands)), passed_(std::move(passed)), capacity_(capacity) {}

EnginePool::~EnginePool() {
  for (ResidentEngine& engine : engines_) {
    if (engine.client) engine.client->Close();
  }
}

size_t EnginePool::started() const {
  std::lock_guard lock(mutex_);
  return started_;
}

void EnginePool::Return(ResidentEngine* engine) {
  const bool gone = engine->last_used == kNeverAgain || !engine->client || !engine->client->alive();
  if (gone) {
    Discard(engine);
    return;
  }
  std::lock_guard lock(mutex_);
  engine->leased = false;
  engine->last_used = ++clock_;
  changed_.notify_all();
}

void EnginePool::Discard(ResidentEngine* engine) {
  if (engine->client) engine->client->Close();
  std::lock_guard lock(mutex_);
  engines_.remove_if([&](const ResidentEngine& e) { return &e == engine; });
  changed_.notify_all();
}

bool EnginePool::EvictOneLocked() {
  auto oldest = engines_.end();
  for (auto it = engines_.begin(); it != engines_.end(); ++it) {
    if (!it->leased && (oldest == engines_.end() || it->last_used < oldest->last_used)) oldest = it;
  }
  if (oldest == engines_.end()) return false;
  oldest->client->Close();
  engines_.erase(oldest);
  return true;
}

// A leased entry for `key`: a resident one that is free, or a new one without a process yet.
fg::Result<ResidentEngine*> EnginePool::Occupy(const EngineKey& key, fg::Deadline deadline,
                                               bool fresh) {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto same = fresh
                    ? engines_.end()
                    : std::find_if(engines_.begin(), engines_.end(), [&](const ResidentEngine& e) {
                        return e.key == key && e.last_used != kNeverAgain;
                      });
    if (same != engines_.end() && !same->leased) {
      same->leased = true;
      return &*same;
    }
    if (same == engines_.end() && (engines_.size() < capacity_ || EvictOneLocked())) {
      ResidentEngine& added = engines_.emplace_back();
      added.key = key;
      added.leased = true;
      added.last_used = fresh ? kNeverAgain : 0;
      ++started_;
      return &added;
    }
    if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) {
      return fg::Status(fg::ErrorKind::kIo, "no engine process came free in time");
    }
  }
}

fg::Result<EngineCommand> EnginePool::CommandOf(const std::string& arm) const {
  for (const EngineCommand& command : commands_) {
    if (command.arm == arm) return command;
  }
  return fg::Status(fg::ErrorKind::kInternal, "no command for arm '" + arm + "'");
}

std::vector<std::string> EnginePool::EnvironmentOf(const EngineKey& key) const {
  std::vector<std::string> environment = passed_;
  for (const auto& [name, value] : key.variables) environment.push_back(name + "=" + value);
  return environment;
}

fg::Result<std::unique_ptr<EngineClient>> EnginePool::StartUnder(
    const std::vector<std::string>& prefix, const EngineKey& key) const {
  FG_ASSIGN_OR_RETURN(EngineCommand command, CommandOf(key.arm));
  command.command.insert(command.command.begin(), prefix.begin(), prefix.end());
  return EngineClient::Start(command, EnvironmentOf(key));
}

fg::Status EnginePool::Bring(ResidentEngine* engine, fg::Deadline deadline, Asked* failure) {
  const auto ask = [&](const fg::Json& request, fg::Json* answer) {
    Asked asked = engine->client->Ask(request, deadline);
    if (asked.state != AskState::kAnswer) {
      *failure = asked;
      return fg::Status(fg::ErrorKind::kIo, asked.message);
    }
    if (answer != nullptr) *answer = std::move(asked.answer);
    return fg::Status::Ok();
  };
  if (engine->client) return ask({{"request", "reset"}}, nullptr);
  FG_ASSIGN_OR_RETURN(const EngineCommand command, CommandOf(engine->key.arm));
  FG_ASSIGN_OR_RETURN(engine->client, EngineClient::Start(command, EnvironmentOf(engine->key)));
  FG_RETURN_IF_ERROR(ask({{"request", "hello"}}, &engine->hello));
  FG_RETURN_IF_ERROR(ask({{"request", "memory"}}, &engine->memory_before));
  if (engine->key.model.empty()) return fg::Status::Ok();
  FG_RETURN_IF_ERROR(ask({{"request", "load"}, {"model", engine->key.model}}, &engine->load));
  return fg::Status::Ok();
}

fg::Result<EngineLease> EnginePool::Lease(const EngineKey& key, fg::Deadline deadline, bool fresh,
                                          Asked* failure) {
  FG_ASSIGN_OR_RETURN(ResidentEngine * engine, Occupy(key, deadline, fresh));
  const fg::Status brought = Bring(engine, deadline, failure);
  if (!brought.ok()) {
    Discard(engine);
    return brought;
  }
  return EngineLease(this, engine);
}

}  // namespace flipgate
