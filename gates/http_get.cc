#include "gates/http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Status;

constexpr size_t kMostBytes = size_t{1} << 20;

// A socket that closes with the object.
class Socket {
 public:
  Socket() : handle_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (handle_ >= 0) ::close(handle_);
  }
  int handle() const { return handle_; }

 private:
  int handle_;
};

sockaddr_in Local(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Status Failed(int port, const std::string& what) {
  return Status(ErrorKind::kIo, "http://127.0.0.1:" + std::to_string(port) + "/: " + what);
}

bool Readable(int handle, fg::Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  pollfd waiting{handle, POLLIN, 0};
  return left.count() > 0 && ::poll(&waiting, 1, static_cast<int>(left.count())) == 1;
}

}  // namespace

fg::Result<int> FreePort() {
  Socket socket;
  sockaddr_in address = Local(0);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (socket.handle() < 0 || ::bind(socket.handle(), plain, size) != 0 ||
      ::getsockname(socket.handle(), plain, &size) != 0) {
    return Status(ErrorKind::kIo, std::string("no port of 127.0.0.1: ") + std::strerror(errno));
  }
  return static_cast<int>(ntohs(address.sin_port));
}

fg::Result<std::string> HttpGet(int port, fg::Deadline deadline) {
  Socket socket;
  const sockaddr_in address = Local(port);
  if (socket.handle() < 0 || ::connect(socket.handle(), reinterpret_cast<const sockaddr*>(&address),
                                       sizeof address) != 0) {
    return Failed(port, std::strerror(errno));
  }
  const std::string request =
      "GET / HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\nConnection: close\r\n\r\n";
  if (::send(socket.handle(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return Failed(port, "took no request");
  }
  std::string answer;
  while (answer.size() < kMostBytes) {
    if (!Readable(socket.handle(), deadline)) return Failed(port, "gave no answer in time");
    char part[4096];
    const ssize_t got = ::recv(socket.handle(), part, sizeof part, 0);
    if (got < 0) return Failed(port, std::strerror(errno));
    if (got == 0) return answer;
    answer.append(part, static_cast<size_t>(got));
  }
  return Failed(port, "answered more than 1 MiB");
}

}  // namespace flipgate
