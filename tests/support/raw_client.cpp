// SPDX-License-Identifier: Apache-2.0
#include "support/raw_client.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "weir/http/message.hpp"

namespace weir::test {
namespace {

constexpr int kPatienceMs = 30000;

}  // namespace

std::string RawClient::Response::field(std::string_view name) const {
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

RawClient::RawClient(std::uint16_t port, int receive_buffer_bytes) {
  descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_buffer_bytes > 0) {
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  }
  const int on = 1;
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("cannot connect");
  }
}

RawClient::~RawClient() {
  close();
}

void RawClient::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void RawClient::half_close() {
  ::shutdown(descriptor_, SHUT_WR);
}

void RawClient::reset() {
  const linger hard{1, 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  close();
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool RawClient::fill() {
  if (ended_) return false;
  pollfd waiting{descriptor_, POLLIN, 0};
  if (::poll(&waiting, 1, kPatienceMs) <= 0) throw std::runtime_error("nothing arrives");
  char block[65536];
  const ssize_t got = ::recv(descriptor_, block, sizeof block, 0);
  if (got < 0) reset_ = true;
  if (got <= 0) ended_ = true;
  if (got > 0) buffer_.append(block, static_cast<std::size_t>(got));
  return got > 0;
}

std::string RawClient::take(std::size_t bytes) {
  while (buffer_.size() < bytes && fill()) {
  }
  std::string taken = buffer_.substr(0, bytes);
  buffer_.erase(0, taken.size());
  return taken;
}

std::string RawClient::take_line() {
  std::size_t end = buffer_.find("\r\n");
  while (end == std::string::npos && fill()) end = buffer_.find("\r\n");
  return take(end == std::string::npos ? buffer_.size() : end + 2);
}

std::string RawClient::read_some(std::size_t most) {
  if (buffer_.empty()) fill();
  return take(std::min(most, buffer_.size()));
}

void RawClient::read_chunked(Response& response) {
  for (;;) {
    const std::string line = take_line();
    if (!line.ends_with("\r\n")) return;
    const std::size_t size = std::stoul(line, nullptr, 16);
    const std::string chunk = take(size);
    response.body += chunk;
    if (chunk.size() < size || take(2) != "\r\n") return;
    if (size == 0) break;
  }
  response.complete = true;
}

RawClient::Response RawClient::read(Request request) {
  Response response;
  std::string line = take_line();
  if (!line.starts_with("HTTP/1.1 ")) return response;
  response.status = std::stoi(line.substr(9, 3));
  while (line.ends_with("\r\n")) {
    response.head += line;
    if (line == "\r\n") break;
    line = take_line();
  }
  const bool bodiless =
      request == Request::head || response.status < 200 || response.status == 204 || response.status == 304;
  const std::string length = response.field("Content-Length");
  if (bodiless) {
    response.complete = true;
  } else if (response.field("Transfer-Encoding") == "chunked") {
    read_chunked(response);
  } else if (!length.empty()) {
    response.body = take(std::stoul(length));
    response.complete = response.body.size() == std::stoul(length);
  } else {
    while (fill()) {
    }
    response.body.swap(buffer_);
    response.complete = !reset_;
  }
  return response;
}

bool RawClient::closed_within(int ms) {
  pollfd waiting{descriptor_, POLLIN, 0};
  if (!buffer_.empty() || ended_) return ended_ && buffer_.empty();
  if (::poll(&waiting, 1, ms) <= 0) return false;
  return !fill();
}

bool RawClient::quiet_for(int ms) {
  pollfd waiting{descriptor_, POLLIN, 0};
  return buffer_.empty() && !ended_ && ::poll(&waiting, 1, ms) == 0;
}

}  // namespace weir::test
