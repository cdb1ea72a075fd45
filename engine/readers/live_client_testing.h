// A client of the live view, for tests.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>
#include <string_view>

namespace fg {

class LiveClient {
 public:
  // `before_connecting` runs when the client has its descriptor.
  explicit LiveClient(int port, int receive_buffer = 0,
                      const std::function<void()>& before_connecting = {})
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    const timeval patience = {20, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    if (before_connecting) before_connecting();
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~LiveClient() { ::close(fd_); }
  LiveClient(const LiveClient&) = delete;
  LiveClient& operator=(const LiveClient&) = delete;

  bool connected() const { return connected_; }
  void Send(std::string_view bytes) {
    if (::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
  }
  void Get(const std::string& path, const std::string& host = "127.0.0.1") {
    Send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  }
  // All that came until `end` was in it, or until the server closed or nothing came for 20 s.
  const std::string& Until(std::string_view end) {
    size_t searched = 0;
    while (end.empty() || received_.find(end, searched) == std::string::npos) {
      searched = received_.size() - std::min(received_.size(), end.size());
      char bytes[4096];
      const ssize_t got = ::recv(fd_, bytes, sizeof(bytes), 0);
      closed_ = got == 0 || (got < 0 && errno == ECONNRESET);
      if (got <= 0) break;
      received_.append(bytes, static_cast<size_t>(got));
    }
    return received_;
  }
  const std::string& All() { return Until(""); }
  bool closed() const { return closed_; }  // by the server, also with bytes of ours unread

 private:
  int fd_;
  bool connected_ = false, closed_ = false;
  std::string received_;
};

}  // namespace fg
