// FG_LIVE: nodes as they run, on a page of 127.0.0.1.
#pragma once

#include <memory>
#include <string>

#include "engine/readers/live_feed.h"
#include "engine/readers/live_server.h"
#include "engine/readers/reader.h"

namespace fg {

class LiveView : public Reader {
 public:
  // `port` as FG_LIVE holds it. Says the page's address on standard error.
  static Result<std::unique_ptr<Reader>> Create(const std::string& port);

  Status Begin(const SeenForward& forward) override;
  Status After(SeenNode& node) override;
  Status End(const SeenForward& forward, ReaderClock::time_point now) override;

  int port() const { return server_->port(); }

 private:
  LiveView() = default;
  Status Say(const Json& event);  // always Ok: no client is worth a forward

  LiveFeed feed_{4096, size_t{4} << 20};
  std::unique_ptr<LiveServer> server_;
};

}  // namespace fg
