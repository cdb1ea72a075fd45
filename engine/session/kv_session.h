// A session over a backend's KV cache.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/graph_cache.h"
#include "engine/gates.h"
#include "engine/ledger.h"
#include "engine/session/engine.h"

namespace fg {

// What the forwards of all sessions of an engine share.
struct Forwards {
  Backend* backend;
  GraphCache* graphs;
  Ledger* ledger;
  const Gates* gates;
  int64_t count = 0;  // forwards begun since load
};

class KvSession : public Session {
 public:
  // `forwards` outlives the session.
  KvSession(Forwards* forwards, const ModelShape& shape, int64_t context, int64_t batch,
            std::unique_ptr<KvCache> kv)
      : forwards_(forwards), shape_(shape), context_(context), batch_(batch), kv_(std::move(kv)) {}

  int64_t position() const override { return position_; }
  Status Forward(std::span<const int32_t> tokens, size_t first_wanted,
                 const ForwardOptions& options, std::vector<float>* logits) override;
  Status Truncate(int64_t position) override;

 private:
  Status Check(std::span<const int32_t> tokens, size_t first_wanted,
               const ForwardOptions& options) const;
  // Where a forward's results go, a row a wanted token; either may be null.
  struct Wanted {
    int64_t rows;
    float* logits;
    int32_t* argmax;
  };
  // One forward of at most batch rows; the results of the last wanted.rows go to `wanted`.
  Status RunPiece(std::span<const int32_t> tokens, const Wanted& wanted,
                  const ForwardOptions& options);
  Status RunPieces(std::span<const int32_t> tokens, size_t first_wanted,
                   const ForwardOptions& options, float* logits, int32_t* argmax);

  Forwards* forwards_;
  ModelShape shape_;
  int64_t context_, batch_;
  std::unique_ptr<KvCache> kv_;
  int64_t position_ = 0;
};

}  // namespace fg
