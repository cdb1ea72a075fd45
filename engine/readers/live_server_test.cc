#include "engine/readers/live_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "engine/readers/live_client_testing.h"

namespace fg {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using namespace std::chrono_literals;

std::unique_ptr<LiveServer> Started(const LiveFeed* feed, const LiveServerOptions& options = {}) {
  auto server = LiveServer::Start(0, feed, options);
  EXPECT_TRUE(server.ok()) << server.status().message();
  return server.ok() ? std::move(*server) : nullptr;
}

std::string AnswerTo(int port, const std::string& bytes) {
  LiveClient client(port);
  client.Send(bytes);
  return client.All();
}

TEST(LiveServer, ServesThePageAndNothingFromOutside) {
  LiveFeed feed(8, 1000);
  const auto server = Started(&feed);
  std::string all;
  for (const char* path : {"/", "/live.js", "/live.css", "/?query"}) {
    LiveClient client(server->port());
    client.Get(path, "localhost:" + std::to_string(server->port()));
    const std::string answer = client.All();
    EXPECT_TRUE(client.closed());
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'none'"));
    const size_t body = answer.find("\r\n\r\n") + 4;
    EXPECT_THAT(answer,
                HasSubstr("Content-Length: " + std::to_string(answer.size() - body) + "\r\n"));
    all += answer.substr(body);
  }
  EXPECT_THAT(all, HasSubstr("EventSource('/events')"));
  EXPECT_THAT(all, Not(HasSubstr("http:")));
  EXPECT_THAT(all, Not(HasSubstr("https:")));
  EXPECT_THAT(all, Not(HasSubstr("innerHTML")));
}

TEST(LiveServer, RefusesWhatItDoesNotKnow) {
  LiveFeed feed(8, 1000);
  const auto server = Started(&feed);
  const int port = server->port();
  const std::string host = "\r\nHost: 127.0.0.1\r\n\r\n";
  EXPECT_THAT(AnswerTo(port, "GET /other HTTP/1.1" + host), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(AnswerTo(port, "GET /../etc/passwd HTTP/1.1" + host), StartsWith("HTTP/1.1 404 "));
  const std::string post = AnswerTo(port, "POST / HTTP/1.1" + host);
  EXPECT_THAT(post, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(post, HasSubstr("\r\nAllow: GET\r\n"));
  EXPECT_THAT(AnswerTo(port, "GET /events HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
              StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(AnswerTo(port, "GET /events HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(AnswerTo(port, "nonsense\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(AnswerTo(port, std::string(kMostRequestBytes, 'a')), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(AnswerTo(port, "GET / HTTP/3" + host), StartsWith("HTTP/1.1 505 "));
}

TEST(LiveServer, StreamsToSeveralClientsAtOnce) {
  LiveFeed feed(100, 10000);
  feed.Add("before");
  const auto server = Started(&feed);
  LiveClient one(server->port()), two(server->port());
  one.Get("/events");
  two.Get("/events");
  for (LiveClient* client : {&one, &two}) {
    const std::string& answer = client->Until("before\n\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream"));
    EXPECT_THAT(answer, HasSubstr("\r\n\r\nid: 0\ndata: before\n\n"));
  }
  feed.Add("after");
  server->Wake();
  for (LiveClient* client : {&one, &two}) {
    EXPECT_THAT(client->Until("after\n\n"), HasSubstr("id: 1\ndata: after\n\n"));
  }
}

TEST(LiveServer, ARequestThatComesInPiecesIsServed) {
  LiveFeed feed(8, 1000);
  const auto server = Started(&feed);
  LiveClient client(server->port());
  for (const char c : std::string("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")) {
    client.Send(std::string(1, c));
  }
  EXPECT_THAT(client.All(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST(LiveServer, ASilentStreamIsKeptAlive) {
  LiveFeed feed(8, 1000);
  const auto server = Started(&feed, {.keep_alive = 1ms});
  LiveClient client(server->port());
  client.Get("/events");
  EXPECT_THAT(client.Until("\r\n\r\n:\n\n:\n\n"), HasSubstr(":\n\n:\n\n"));
}

TEST(LiveServer, AClientThatFallsBehindIsDropped) {
  LiveFeed feed(16, 1 << 20);
  const auto server = Started(&feed, {.most_pending = 4096, .socket_buffer = 4096});
  LiveClient slow(server->port(), 4096), quick(server->port());
  slow.Get("/events");
  slow.Until("\r\n\r\n");
  quick.Get("/events");
  quick.Until("\r\n\r\n");
  // 8 MB, which nobody's buffers hold; the quick one is waited for, the slow one takes nothing.
  for (int i = 0; i < 1000; ++i) {
    feed.Add(std::to_string(i) + "." + std::string(8000, 'x'));
    server->Wake();
    if (i % 8 == 7) quick.Until("data: " + std::to_string(i) + ".");
  }
  EXPECT_FALSE(quick.closed());
  EXPECT_THAT(quick.Until("data: 999."), HasSubstr("data: 999."));
  EXPECT_THAT(slow.All(), Not(HasSubstr("data: 999.")));
}

TEST(LiveServer, WhoAsksForNothingIsDroppedAndMakesRoom) {
  LiveFeed feed(8, 1000);
  const auto server = Started(&feed, {.most_clients = 1, .patience = 300ms});
  LiveClient idle(server->port());
  idle.Send("GET / HT");
  EXPECT_EQ(idle.All(), "");
  EXPECT_TRUE(idle.closed());
  LiveClient next(server->port());
  next.Get("/");
  EXPECT_THAT(next.All(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST(LiveServer, AFloodBehindARequestIsDropped) {
  LiveFeed feed(8, 1000);
  const auto server = Started(&feed);
  LiveClient client(server->port());
  client.Get("/events");
  client.Until("\r\n\r\n");
  const std::string flood(8192, 'x');
  for (int i = 0; i < 64; ++i) client.Send(flood);
  client.All();
  EXPECT_TRUE(client.closed());
}

TEST(LiveServer, WithoutADescriptorItWaitsAndGoesOn) {
  LiveFeed feed(8, 1000);
  const auto server = Started(&feed);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  LiveClient client(server->port(), 0, [&] {
    // Below the client's own descriptor: the server gets none for it.
    const rlimit none = {4, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  });
  client.Get("/");
  std::this_thread::sleep_for(50ms);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(client.All(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST(LiveServer, ClientsBeyondTheLimitAreTurnedAway) {
  LiveFeed feed(8, 1000);
  const auto server = Started(&feed, {.most_clients = 1});
  LiveClient one(server->port());
  one.Get("/events");
  one.Until("\r\n\r\n");
  LiveClient two(server->port());
  EXPECT_THAT(two.All(), StartsWith("HTTP/1.1 503 "));
}

TEST(LiveServer, APortThatIsTakenIsSaid) {
  LiveFeed feed(8, 1000);
  const auto server = Started(&feed);
  const std::string port = std::to_string(server->port());
  const auto second = LiveServer::Start(server->port(), &feed);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().kind(), ErrorKind::kUsage);
  EXPECT_EQ(second.status().message(), "FG_LIVE='" + port + "': cannot listen on 127.0.0.1:" +
                                           port + ": Address already in use");
}

TEST(LiveServer, EndsWhileAClientListens) {
  LiveFeed feed(8, 1000);
  auto server = Started(&feed);
  LiveClient client(server->port());
  client.Get("/events");
  client.Until("\r\n\r\n");
  server.reset();
  client.All();
  EXPECT_TRUE(client.closed());
}

}  // namespace
}  // namespace fg
