// Events between the engine, which adds, and the live view's server, which reads. Bounded: what is
// old is forgotten, and whoever reads too slowly is told that events were lost.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

namespace fg {

class LiveFeed {
 public:
  LiveFeed(size_t most_events, size_t most_bytes)
      : most_events_(most_events), most_bytes_(most_bytes) {}

  void Add(std::string event);

  // Where a newcomer starts: in the newer half of what is kept, so that there is something to show
  // and time to fetch it.
  uint64_t Start() const;

  bool Has(uint64_t next) const;  // whether an event `next`, or a later one, has come

  // Appends the events from *next on to *out as server-sent events, until it holds `most` bytes or
  // more, and moves *next on. False when events from *next on are gone.
  bool Read(uint64_t* next, size_t most, std::string* out) const;

 private:
  const size_t most_events_, most_bytes_;
  mutable std::mutex mutex_;
  std::deque<std::string> events_;
  uint64_t first_ = 0;  // number of events_.front()
  size_t bytes_ = 0;
};

}  // namespace fg
