// SPDX-License-Identifier: Apache-2.0
#include "support/echo_upstream.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "weir/http/message.hpp"

namespace weir::test {

std::string EchoUpstream::Request::field(std::string_view name) const {
  std::size_t at = head.find("\r\n");
  while (at != std::string::npos && at + 2 < head.size()) {
    const std::size_t end = head.find("\r\n", at + 2);
    const std::string line = head.substr(at + 2, end - at - 2);
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && http::iequals(line.substr(0, colon), name))
      return line.substr(colon + 2);
    at = end;
  }
  return {};
}

bool EchoUpstream::Wire::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void EchoUpstream::Wire::half_close() {
  ::shutdown(descriptor_, SHUT_WR);
}

void EchoUpstream::Wire::reset() {
  const linger hard{1, 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

bool EchoUpstream::Wire::fill() {
  char block[65536];
  const ssize_t got = ::recv(descriptor_, block, sizeof block, 0);
  if (got > 0) buffer_.append(block, static_cast<std::size_t>(got));
  return got > 0;
}

std::string EchoUpstream::Wire::take(std::size_t bytes) {
  while (buffer_.size() < bytes && fill()) {
  }
  std::string taken = buffer_.substr(0, bytes);
  buffer_.erase(0, taken.size());
  return taken;
}

std::string EchoUpstream::Wire::take_line() {
  std::size_t end = buffer_.find("\r\n");
  while (end == std::string::npos && fill()) end = buffer_.find("\r\n");
  return take(end == std::string::npos ? buffer_.size() : end + 2);
}

std::string EchoUpstream::Wire::read_some() {
  if (buffer_.empty()) fill();
  return take(buffer_.size());
}

bool EchoUpstream::Wire::read_head(Request& request) {
  request = {};
  for (std::string line = take_line();; line = take_line()) {
    if (!line.ends_with("\r\n")) return false;
    request.head += line;
    if (line == "\r\n") return true;
  }
}

bool EchoUpstream::Wire::read_body(Request& request) {
  const std::string length = request.field("Content-Length");
  if (!length.empty()) {
    request.body = take(std::stoul(length));
    return request.body.size() == std::stoul(length);
  }
  if (request.field("Transfer-Encoding") != "chunked") return true;
  for (;;) {
    const std::string line = take_line();
    if (!line.ends_with("\r\n")) return false;
    const std::size_t size = std::stoul(line, nullptr, 16);
    const std::string chunk = take(size);
    request.body += chunk;
    if (chunk.size() < size || take(2) != "\r\n") return false;
    if (size == 0) return true;
  }
}

bool EchoUpstream::answer(Wire& wire, Request& request) {
  if (!wire.read_body(request)) return false;
  const std::string& body = request.body.empty() ? request.head : request.body;
  const std::string head = "HTTP/1.1 200 OK\r\nX-Served: " + std::to_string(++wire.served) +
                           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  return wire.send(request.method() == "HEAD" ? head : head + body);
}

EchoUpstream::EchoUpstream() : EchoUpstream(Script(&EchoUpstream::answer)) {}

EchoUpstream::EchoUpstream(Script script) : script_(std::move(script)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool good = ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                    ::listen(listener_, 128) == 0 &&
                    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (!good) throw std::runtime_error("cannot listen");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] {
    for (;;) {
      const int descriptor = ::accept(listener_, nullptr, nullptr);
      if (descriptor < 0) return;
      const std::lock_guard lock(mutex_);
      if (stopping_) {
        ::close(descriptor);
        return;
      }
      ++connections_;
      ++open_;
      descriptors_.push_back(descriptor);
      threads_.emplace_back([this, descriptor] { serve(descriptor); });
    }
  });
}

EchoUpstream::~EchoUpstream() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  {
    const std::lock_guard lock(mutex_);
    for (const int descriptor : descriptors_) ::shutdown(descriptor, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
}

void EchoUpstream::serve(int descriptor) {
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Wire wire(descriptor);
  Request request;
  while (wire.read_head(request)) {
    ++requests_;
    const bool more = script_(wire, request);
    {
      const std::lock_guard lock(mutex_);
      seen_.push_back(request);
    }
    if (!more) break;
  }
  const std::lock_guard lock(mutex_);
  std::erase(descriptors_, descriptor);
  ::close(descriptor);
  --open_;
}

std::vector<EchoUpstream::Request> EchoUpstream::seen() {
  const std::lock_guard lock(mutex_);
  return seen_;
}

}  // namespace weir::test
