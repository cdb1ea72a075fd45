#include "engine/readers/live_feed.h"

#include <utility>

namespace fg {

void LiveFeed::Add(std::string event) {
  const std::lock_guard lock(mutex_);
  bytes_ += event.size();
  events_.push_back(std::move(event));
  while (events_.size() > most_events_ || (bytes_ > most_bytes_ && !events_.empty())) {
    bytes_ -= events_.front().size();
    events_.pop_front();
    ++first_;
  }
}

uint64_t LiveFeed::Start() const {
  const std::lock_guard lock(mutex_);
  const size_t half = most_events_ / 2;
  return first_ + (events_.size() > half ? events_.size() - half : 0);
}

bool LiveFeed::Has(uint64_t next) const {
  const std::lock_guard lock(mutex_);
  return next < first_ + events_.size();
}

bool LiveFeed::Read(uint64_t* next, size_t most, std::string* out) const {
  const std::lock_guard lock(mutex_);
  if (*next < first_) return false;
  for (; *next - first_ < events_.size() && out->size() < most; ++*next) {
    *out += "id: " + std::to_string(*next) + "\ndata: " + events_[*next - first_] + "\n\n";
  }
  return true;
}

}  // namespace fg
