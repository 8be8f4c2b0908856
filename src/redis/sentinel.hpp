// SPDX-License-Identifier: Apache-2.0
// Finds the primary that the Sentinels of a deployment agree on.
#pragma once

#include <string>
#include <vector>

#include "redis/connection.hpp"

namespace weir::redis {

struct SentinelOptions {
  std::vector<Address> sentinels;  // at least one
  std::string primary;             // the name it is watched under ("mymaster")
  std::string username;            // of the Sentinels themselves; often none
  std::string password;
  std::shared_ptr<const net::TlsClientContext> tls;
};

// One per connection. The Sentinels are asked in turn, from the one that answered last; each has a share of
// the time. A connection to one of them is kept, since it is asked again and again.
class Sentinels final : public Finder {
 public:
  Sentinels(Executor executor, SentinelOptions options);
  // Error: none of them knows, or none answers.
  boost::asio::awaitable<Result<Address>> find(TimePoint deadline) override;
  void close() override;

 private:
  boost::asio::awaitable<Result<Address>> ask(const Address& sentinel, TimePoint deadline);
  std::shared_ptr<Connection> link_to(const Address& sentinel);

  Executor executor_;
  SentinelOptions options_;
  std::shared_ptr<Connection> link_;  // to whom was asked last
  std::size_t last_good_ = 0;
  bool closed_ = false;
};

}  // namespace weir::redis
