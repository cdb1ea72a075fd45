// What makes two runs the same step, and the steps that were kept, the last used first. Pure logic:
// cuda_capture.h keeps the device's part.
#pragma once

#include <compare>
#include <cstdint>
#include <list>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace fg {

// A step that was taken down runs again with the addresses and launch shapes that it had, so
// whatever it holds of them stands here. Values that change from run to run (tokens, positions, the
// KV length within a bucket) do not: the device reads them from memory.
struct StepKey {
  std::string graph;                   // Graph::identity: operations, shapes, tensors
  bool argmax = false;                 // the ids of the highest logits are found and copied
  bool kv_row_off = false;             // planted
  int64_t bucket = 0;                  // of the attention's length; 0 where no launch depends on it
  std::vector<const void*> addresses;  // of every array that is not the model's

  bool Holds(const void* address) const;
  auto operator<=>(const StepKey&) const = default;
};

// The last used `most` keys with what belongs to each.
template <typename Kept>
class RecentSteps {
 public:
  explicit RecentSteps(size_t most) : most_(most) {}

  // The entry of `key`, which becomes the last used one; a new one takes the place of the one that
  // was not used for the longest time.
  Kept& Use(const StepKey& key) {
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      if (at->first != key) continue;
      entries_.splice(entries_.begin(), entries_, at);
      return entries_.front().second;
    }
    entries_.emplace_front(std::piecewise_construct, std::forward_as_tuple(key),
                           std::forward_as_tuple());
    if (entries_.size() > most_) entries_.pop_back();
    return entries_.front().second;
  }
  // Forgets the entries whose key holds `address`.
  void Drop(const void* address) {
    entries_.remove_if([&](const auto& entry) { return entry.first.Holds(address); });
  }
  void Clear() { entries_.clear(); }
  size_t size() const { return entries_.size(); }

 private:
  size_t most_;
  std::list<std::pair<StepKey, Kept>> entries_;
};

}  // namespace fg
