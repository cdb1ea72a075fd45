#include "engine/readers/live_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "engine/readers/live_page.h"

namespace fg {
namespace {

constexpr size_t kMostIgnored = size_t{64} << 10;  // bytes after a request; then it is a flood
constexpr int kTick = 250;  // milliseconds between looks at the clock while a client is there

Status CannotListen(int port, int fd) {
  const std::string reason = std::strerror(errno);
  if (fd >= 0) ::close(fd);
  return Status(ErrorKind::kUsage, "FG_LIVE='" + std::to_string(port) +
                                       "': cannot listen on 127.0.0.1:" + std::to_string(port) +
                                       ": " + reason);
}

// A listening socket; *port becomes the one that it got.
Result<int> Listen(int* port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return CannotListen(*port, fd);
  const int one = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(*port));
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  if (::bind(fd, generic, size) != 0 || ::listen(fd, 16) != 0 ||
      ::getsockname(fd, generic, &size) != 0) {
    return CannotListen(*port, fd);
  }
  *port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

Result<std::unique_ptr<LiveServer>> LiveServer::Start(int port, const LiveFeed* feed,
                                                      const LiveServerOptions& options) {
  FG_ASSIGN_OR_RETURN(const int listener, Listen(&port));
  const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) return CannotListen(port, listener);
  return std::unique_ptr<LiveServer>(new LiveServer(listener, wake, port, feed, options));
}

LiveServer::LiveServer(int listener, int wake, int port, const LiveFeed* feed,
                       const LiveServerOptions& options)
    : listener_(listener), wake_(wake), port_(port), feed_(feed), options_(options) {
  // The engine's threads take the signals.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Serve(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LiveServer::~LiveServer() {
  stop_ = true;
  Wake();
  thread_.join();
  for (const Client& client : clients_) ::close(client.fd);
  ::close(listener_);
  ::close(wake_);
}

void LiveServer::Wake() {
  const uint64_t one = 1;
  // A counter that is full has woken the server already.
  if (::write(wake_, &one, sizeof(one)) < 0) return;
}

std::vector<pollfd> LiveServer::Wait() {
  const bool deaf = Clock::now() < deaf_until_;
  const short listens = deaf ? 0 : POLLIN;
  std::vector<pollfd> fds = {{wake_, POLLIN, 0}, {listener_, listens, 0}};
  for (const Client& client : clients_) {
    const bool waits = !client.out.empty() || (client.streaming && feed_->Has(client.next));
    const short sends = waits ? POLLOUT : 0;
    fds.push_back({client.fd, static_cast<short>(POLLIN | sends), 0});
  }
  // A failed call leaves no events, and the clock is looked at all the same.
  if (::poll(fds.data(), fds.size(), clients_.empty() && !deaf ? -1 : kTick) < 0) {
    for (pollfd& fd : fds) fd.revents = 0;
  }
  uint64_t count;
  while (::read(wake_, &count, sizeof(count)) > 0) {
  }
  return fds;
}

void LiveServer::Serve() {
  while (!stop_) {
    const std::vector<pollfd> fds = Wait();
    const auto now = Clock::now();
    size_t at = 2;
    for (auto client = clients_.begin(); client != clients_.end(); ++at) {
      const bool readable = (fds[at].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
      const bool stays = (!readable || Receive(&*client)) && Refill(&*client, now) &&
                         Send(&*client) && Patient(*client, now);
      if (!stays) ::close(client->fd);
      client = stays ? std::next(client) : clients_.erase(client);
    }
    if ((fds[1].revents & POLLIN) != 0) Accept();
  }
}

void LiveServer::Accept() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    // Without a descriptor to take it, the client would be announced again at once, for ever.
    if (errno == EMFILE || errno == ENFILE) {
      deaf_until_ = Clock::now() + std::chrono::milliseconds(kTick);
    }
    return;
  }
  if (clients_.size() >= 2 * options_.most_clients) {
    ::close(fd);
    return;
  }
  if (options_.socket_buffer > 0) {
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &options_.socket_buffer,
                 sizeof(options_.socket_buffer));
  }
  Client client;
  client.fd = fd;
  client.moved = Clock::now();
  if (clients_.size() >= options_.most_clients) {
    client.answered = true;
    client.out = HttpAnswer(503, "text/plain", "too many clients\n");
  }
  clients_.push_back(std::move(client));
}

bool LiveServer::Receive(Client* client) {
  char bytes[4096];
  const ssize_t got = ::recv(client->fd, bytes, sizeof(bytes), 0);
  if (got == 0) return false;
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (client->answered) {  // one request a connection
    client->ignored += static_cast<size_t>(got);
    return client->ignored <= kMostIgnored;
  }
  client->in.append(bytes, static_cast<size_t>(got));
  const HttpReading reading = ReadHttpRequest(client->in);
  if (reading.status != 0) Answer(reading, client);
  return true;
}

void LiveServer::Answer(const HttpReading& reading, Client* client) {
  client->answered = true;
  client->in.clear();
  client->moved = Clock::now();
  client->out = LiveAnswer(reading, port_, &client->streaming);
  if (client->streaming) client->next = feed_->Start();
}

bool LiveServer::Refill(Client* client, Clock::time_point now) {
  if (!client->streaming) return true;
  if (!feed_->Read(&client->next, options_.most_pending, &client->out)) return false;
  if (client->out.empty() && now - client->moved > options_.keep_alive) client->out = ":\n\n";
  return true;
}

bool LiveServer::Send(Client* client) {
  while (!client->out.empty()) {
    const ssize_t sent = ::send(client->fd, client->out.data(), client->out.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN;
    client->out.erase(0, static_cast<size_t>(sent));
    client->moved = Clock::now();
  }
  // Closing with bytes unread would reset the connection and take the answer with it.
  if (client->answered && !client->streaming && !client->done) {
    ::shutdown(client->fd, SHUT_WR);
    client->done = true;
  }
  return true;
}

bool LiveServer::Patient(const Client& client, Clock::time_point now) const {
  const bool waits = !client.answered || !client.out.empty() || client.done;
  return !waits || now - client.moved <= options_.patience;
}

}  // namespace fg
