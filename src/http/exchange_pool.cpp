// SPDX-License-Identifier: Apache-2.0
#include "http/exchange_pool.hpp"

#include "http/server_exchange.hpp"

namespace weir::http {

ExchangePool::ExchangePool(net::EventLoop& loop) : loop_(loop) {
  exchanges_.reserve(kKeptExchanges);
  blocks_.reserve(kKeptBlocks);
}

ExchangePool::~ExchangePool() = default;

std::unique_ptr<ServerExchange> ExchangePool::take() {
  if (exchanges_.empty()) return std::make_unique<ServerExchange>(loop_, *this);
  std::unique_ptr<ServerExchange> exchange = std::move(exchanges_.back());
  exchanges_.pop_back();
  return exchange;
}

void ExchangePool::give_back(std::unique_ptr<ServerExchange> exchange) noexcept {
  if (exchanges_.size() < kKeptExchanges) exchanges_.push_back(std::move(exchange));
}

std::unique_ptr<char[]> ExchangePool::take_block() {
  if (blocks_.empty()) return std::make_unique_for_overwrite<char[]>(kBlockBytes);
  std::unique_ptr<char[]> block = std::move(blocks_.back());
  blocks_.pop_back();
  return block;
}

void ExchangePool::give_back(std::unique_ptr<char[]> block) noexcept {
  if (blocks_.size() < kKeptBlocks) blocks_.push_back(std::move(block));
}

}  // namespace weir::http
