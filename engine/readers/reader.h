// What the readers of intermediate values share: a node that has just run, and what is computed of
// its values at most once, whichever readers ask. docs/readers.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/status.h"
#include "engine/backend/node_observer.h"
#include "engine/readers/value_statistics.h"

namespace fg {

using ReaderClock = std::chrono::steady_clock;

struct SeenForward {
  int64_t index = 0;  // executions of this engine, from 0
  const Graph& graph;
  Phase phase;
  ReaderClock::time_point begin;
};

// Not for keeping: it refers to what lives during the call.
class SeenNode {
 public:
  SeenNode(const SeenForward& forward, const NodeRun& run, ReaderClock::time_point end)
      : forward_(forward), run_(run), end_(end) {}

  const SeenForward& forward() const { return forward_; }
  const NodeRun& run() const { return run_; }
  const Node& node() const { return run_.node; }
  ReaderClock::time_point end() const { return end_; }

  bool has_values() const { return run_.values != nullptr && bytes() > 0; }
  size_t bytes() const {  // of the values, f32 [rows][columns]
    return static_cast<size_t>(node().rows * node().columns) * sizeof(float);
  }
  const ValueStatistics& statistics();  // of no values where there are none
  const std::string& sha256();          // of the values' bytes; "" where there are none

 private:
  const SeenForward& forward_;
  const NodeRun& run_;
  ReaderClock::time_point end_;
  std::optional<ValueStatistics> statistics_;
  std::optional<std::string> sha256_;
};

// One reader. An error ends the forward.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual Status Begin(const SeenForward& forward) = 0;
  virtual Status After(SeenNode& node) = 0;
  virtual Status End(const SeenForward& forward, ReaderClock::time_point now) = 0;
};

// The layer that a node belongs to by its KV cache or its weight's name; -1 where neither tells.
int64_t LayerOfNode(const Node& node);

// {"count", "min", "max", "mean", "nan", "infinite"}; min, max and mean are null where no value is
// finite. Null for a node without values.
Json StatisticsJson(SeenNode& node);

// One line of JSON with its newline; bytes that are no UTF-8 become U+FFFD.
std::string JsonLine(const Json& json);

}  // namespace fg
