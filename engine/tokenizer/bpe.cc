#include "engine/tokenizer/bpe.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace fg {
namespace {

// A pair that could be merged when it was pushed. It is stale once a neighbour was merged away:
// then the ids at its place are others, for a merged token never turns back.
struct Candidate {
  int32_t rank, at, left, right;
};

struct Later {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
  }
};

constexpr int32_t kNone = -1;

}  // namespace

// The state of one Apply.
class BpeRun {
 public:
  BpeRun(const Bpe& bpe, std::span<const int32_t> ids) : bpe_(bpe), nodes_(ids.size()) {
    const int32_t count = static_cast<int32_t>(ids.size());
    for (int32_t i = 0; i < count; ++i) {
      nodes_[i] = {ids[i], i - 1, i + 1 < count ? i + 1 : kNone};
    }
    for (int32_t i = 0; i + 1 < count; ++i) Push(i);
  }

  void MergeAll() {
    while (!heap_.empty()) {
      const Candidate best = heap_.top();
      heap_.pop();
      Node& left = nodes_[best.at];
      if (left.id != best.left || left.next == kNone || nodes_[left.next].id != best.right)
        continue;
      Node& right = nodes_[left.next];
      left.id = bpe_.Find(best.left, best.right)->merged;
      right.id = kNone;
      left.next = right.next;
      if (left.next != kNone) nodes_[left.next].previous = best.at;
      if (left.previous != kNone) Push(left.previous);
      if (left.next != kNone) Push(best.at);
    }
  }

  void AppendTo(std::vector<int32_t>* out) const {
    if (nodes_.empty()) return;
    for (int32_t i = 0; i != kNone; i = nodes_[i].next) out->push_back(nodes_[i].id);
  }

  uint64_t pushes() const { return pushes_; }

 private:
  struct Node {
    int32_t id;  // kNone once merged away
    int32_t previous, next;
  };

  // The pair of node `at` and the one after it.
  void Push(int32_t at) {
    const int32_t left = nodes_[at].id, right = nodes_[nodes_[at].next].id;
    const BpeMerge* merge = bpe_.Find(left, right);
    if (merge == nullptr) return;
    heap_.push({merge->rank, at, left, right});
    ++pushes_;
  }

  const Bpe& bpe_;
  std::vector<Node> nodes_;
  std::priority_queue<Candidate, std::vector<Candidate>, Later> heap_;
  uint64_t pushes_ = 0;
};

Bpe::Bpe(std::vector<BpeMerge> merges, int32_t vocabulary)
    : merges_(std::move(merges)), first_(static_cast<size_t>(vocabulary) + 1) {
  std::sort(merges_.begin(), merges_.end(), [](const BpeMerge& a, const BpeMerge& b) {
    return a.left != b.left ? a.left < b.left : a.right < b.right;
  });
  for (const BpeMerge& merge : merges_) ++first_[static_cast<size_t>(merge.left) + 1];
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
}

const BpeMerge* Bpe::Find(int32_t left, int32_t right) const {
  const BpeMerge* begin = merges_.data() + first_[static_cast<size_t>(left)];
  const BpeMerge* end = merges_.data() + first_[static_cast<size_t>(left) + 1];
  const BpeMerge* at = std::lower_bound(
      begin, end, right, [](const BpeMerge& merge, int32_t id) { return merge.right < id; });
  return at != end && at->right == right ? at : nullptr;
}

void Bpe::Apply(std::span<const int32_t> ids, std::vector<int32_t>* out, uint64_t* steps) const {
  BpeRun run(*this, ids);
  run.MergeAll();
  run.AppendTo(out);
  if (steps != nullptr) *steps += run.pushes();
}

}  // namespace fg
