// SPDX-License-Identifier: Apache-2.0
// A server that speaks RESP and misbehaves as told: for faults that a real redis-server cannot be made to
// show.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weir::test {

class FakeResp {
 public:
  // What happens after a request: bytes are sent (as they are), then perhaps the connection ends.
  struct Answer {
    std::string bytes;
    enum class Then : std::uint8_t { stay, close, reset } then = Then::stay;
  };
  using Request = std::vector<std::string>;
  using Behaviour = std::function<Answer(const Request&)>;

  // PING, AUTH and SELECT are answered well without asking `behaviour`, unless `greets` is false.
  enum class Greets : std::uint8_t { well, as_told };
  explicit FakeResp(Behaviour behaviour, Greets greets = Greets::well);
  ~FakeResp();
  FakeResp(const FakeResp&) = delete;
  FakeResp& operator=(const FakeResp&) = delete;

  std::uint16_t port() const { return port_; }
  // How many requests with this first word came, over all connections.
  std::size_t count(std::string_view command) const;
  std::size_t connections() const { return connections_.load(); }

 private:
  struct Peer;
  void serve();
  bool take(Peer& peer);
  Answer answer(const Request& request);

  Behaviour behaviour_;
  Greets greets_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> connections_{0};
  mutable std::mutex mutex_;
  std::vector<std::string> commands_;
  std::thread thread_;
};

}  // namespace weir::test
