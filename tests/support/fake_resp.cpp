// SPDX-License-Identifier: Apache-2.0
#include "support/fake_resp.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "support/redis_server.hpp"

namespace weir::test {
namespace {

// One request off the front of `input`; nullopt if it is not complete.
std::optional<FakeResp::Request> parse(std::string& input) {
  std::size_t at = 0;
  const auto number = [&](char sign) -> std::optional<std::size_t> {
    const std::size_t end = input.find("\r\n", at);
    if (end == std::string::npos || input[at] != sign) return std::nullopt;
    const std::size_t value = std::strtoul(input.c_str() + at + 1, nullptr, 10);
    at = end + 2;
    return value;
  };
  const auto words = number('*');
  if (!words) return std::nullopt;
  FakeResp::Request request;
  for (std::size_t n = 0; n < *words; ++n) {
    const auto size = number('$');
    if (!size || input.size() < at + *size + 2) return std::nullopt;
    request.push_back(input.substr(at, *size));
    at += *size + 2;
  }
  input.erase(0, at);
  return request;
}

}  // namespace

struct FakeResp::Peer {
  int socket;
  std::string input;
};

FakeResp::FakeResp(Behaviour behaviour, Greets greets) : behaviour_(std::move(behaviour)), greets_(greets) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int tries = 0; tries < 100; ++tries) {
    port_ = free_port();
    address.sin_port = htons(port_);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) break;
    ::close(listener_);
    listener_ = -1;
  }
  if (listener_ < 0 || ::listen(listener_, 64) != 0) throw std::runtime_error("no port for the fake server");
  thread_ = std::thread([this] { serve(); });
}

FakeResp::~FakeResp() {
  stop_ = true;
  thread_.join();
  ::close(listener_);
}

std::size_t FakeResp::count(std::string_view command) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count(commands_, command));
}

void FakeResp::serve() {
  std::vector<Peer> peers;
  while (!stop_) {
    std::vector<pollfd> polled{{listener_, POLLIN, 0}};
    for (const Peer& peer : peers) polled.push_back({peer.socket, POLLIN, 0});
    ::poll(polled.data(), polled.size(), 5);
    for (std::size_t n = peers.size(); n-- > 0;) {
      if (polled[n + 1].revents == 0 || take(peers[n])) continue;
      peers.erase(peers.begin() + static_cast<std::ptrdiff_t>(n));
    }
    if (polled[0].revents == 0) continue;
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    ++connections_;
    peers.push_back({socket, {}});
  }
  for (const Peer& peer : peers) ::close(peer.socket);
}

// Reads and answers; false: the connection is over.
bool FakeResp::take(Peer& peer) {
  char bytes[16384];
  const ssize_t got = ::recv(peer.socket, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got > 0) peer.input.append(bytes, static_cast<std::size_t>(got));
  bool over = got == 0;
  while (!over) {
    const auto request = parse(peer.input);
    if (!request) return true;
    const Answer reply = answer(*request);
    ::send(peer.socket, reply.bytes.data(), reply.bytes.size(), MSG_NOSIGNAL);
    if (reply.then == Answer::Then::stay) continue;
    if (reply.then == Answer::Then::reset) {
      const linger at_once{1, 0};
      ::setsockopt(peer.socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    over = true;
  }
  ::close(peer.socket);
  return false;
}

FakeResp::Answer FakeResp::answer(const Request& request) {
  const std::string& command = request.front();
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back(command);
  }
  if (greets_ == Greets::well) {
    if (command == "PING") return {"+PONG\r\n"};
    if (command == "AUTH" || command == "SELECT") return {"+OK\r\n"};
  }
  return behaviour_(request);
}

}  // namespace weir::test
