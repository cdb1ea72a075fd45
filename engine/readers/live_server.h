// The live view's HTTP server: one thread, 127.0.0.1 only, reading from a LiveFeed. It never makes
// the engine wait.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "engine/readers/http_request.h"
#include "engine/readers/live_feed.h"

namespace fg {

struct LiveServerOptions {
  size_t most_clients = 16;
  size_t most_pending = size_t{64} << 10;    // bytes that wait for one client
  int socket_buffer = 0;                     // SO_SNDBUF of a client; 0 is the system's
  std::chrono::milliseconds patience{5000};  // for a request, and for a client that takes nothing
  std::chrono::milliseconds keep_alive{10000};  // between comments on a silent stream
};

class LiveServer {
 public:
  // `port` 0 takes a free one. `feed` outlives the server. kUsage: the port cannot be listened on.
  static Result<std::unique_ptr<LiveServer>> Start(int port, const LiveFeed* feed,
                                                   const LiveServerOptions& options = {});
  ~LiveServer();
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  int port() const { return port_; }
  void Wake();  // something is in the feed; from any thread, never waits

 private:
  using Clock = std::chrono::steady_clock;
  struct Client {
    int fd = -1;
    std::string in, out;     // what came of the request; what waits to be sent
    bool answered = false;   // the request was read
    bool streaming = false;  // takes events from `next` on
    bool done = false;       // everything is sent; closed when the client has taken it
    uint64_t next = 0;
    size_t ignored = 0;       // bytes that came after the request
    Clock::time_point moved;  // when it last sent or took something
  };

  LiveServer(int listener, int wake, int port, const LiveFeed* feed,
             const LiveServerOptions& options);
  void Serve();
  // Waits for something to do; revents of the wake-up, the listener and each client.
  std::vector<pollfd> Wait();
  void Accept();
  // Each returns false when the client is to be dropped.
  bool Receive(Client* client);
  bool Send(Client* client);
  bool Refill(Client* client, Clock::time_point now);
  bool Patient(const Client& client, Clock::time_point now) const;
  void Answer(const HttpReading& reading, Client* client);

  const int listener_, wake_, port_;
  const LiveFeed* const feed_;
  const LiveServerOptions options_;
  std::list<Client> clients_;     // of the server's thread alone
  Clock::time_point deaf_until_;  // no new client is taken: the process has no descriptor left
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace fg
