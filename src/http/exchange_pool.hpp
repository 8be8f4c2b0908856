// SPDX-License-Identifier: Apache-2.0
// Exchanges and read blocks of one worker, kept between requests so that the steady path allocates nothing
// and an idle connection owns none. One thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace weir::net {
class EventLoop;
}

namespace weir::http {

class ServerExchange;

class ExchangePool {
 public:
  static constexpr std::size_t kBlockBytes = 64 * 1024;
  static constexpr std::size_t kKeptExchanges = 512;
  static constexpr std::size_t kKeptBlocks = 64;

  explicit ExchangePool(net::EventLoop& loop);
  ~ExchangePool();

  std::unique_ptr<ServerExchange> take();
  void give_back(std::unique_ptr<ServerExchange> exchange) noexcept;

  // kBlockBytes for reading a body.
  std::unique_ptr<char[]> take_block();
  void give_back(std::unique_ptr<char[]> block) noexcept;

 private:
  net::EventLoop& loop_;
  std::vector<std::unique_ptr<ServerExchange>> exchanges_;
  std::vector<std::unique_ptr<char[]>> blocks_;
};

}  // namespace weir::http
