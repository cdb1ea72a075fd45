// The merges of byte-pair encoding over token ids.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fg {

struct BpeMerge {
  int32_t left, right;  // the pair of tokens
  int32_t rank;         // lower merges first
  int32_t merged;       // what the pair becomes
};

class Bpe {
 public:
  Bpe() = default;
  // Ids are in 0 .. vocabulary-1; no pair occurs twice.
  Bpe(std::vector<BpeMerge> merges, int32_t vocabulary);

  // Appends to `out` what is left of `ids`, fewer than 2^31, when no pair in it has a merge: always
  // the pair of the lowest rank first, the leftmost of equals. O(n log n) time by a heap over a
  // linked list, memory linear, no recursion. `steps`, where given, is raised by the heap's pushes.
  void Apply(std::span<const int32_t> ids, std::vector<int32_t>* out,
             uint64_t* steps = nullptr) const;

 private:
  friend class BpeRun;
  // Null where the pair has no merge.
  const BpeMerge* Find(int32_t left, int32_t right) const;

  std::vector<BpeMerge> merges_;  // by left, then right
  std::vector<uint32_t> first_;   // [vocabulary + 1] first merge of a left token
};

}  // namespace fg
