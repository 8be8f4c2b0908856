// SPDX-License-Identifier: Apache-2.0
// A document that all gateways of a node read from the shared store (lua/published.lua): `weir push` replaces
// it in one step, and only what the publisher had seen, so that of two who push at once one is told.
// Looking costs one small call, whatever the document's size.
//
// Threads: the caller's executor.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "redis/script_caller.hpp"

namespace weir::store {

struct Published {
  std::string version;     // `sequence-hash`; empty: nothing was ever published
  std::int64_t at_ms = 0;  // by the store's clock
  std::string document;    // empty after look() and publish()
};

struct Publication {
  bool done = false;
  Published in_force;  // afterwards
};

class PublishedDocument {
 public:
  // Replies of a caller for this have to be let through up to this size.
  static constexpr std::size_t kMostReplyBytes = 17 * 1024 * 1024;

  PublishedDocument(std::shared_ptr<redis::ScriptCaller> caller, std::string_view node,
                    std::chrono::milliseconds timeout);

  boost::asio::awaitable<Result<Published>> look();
  boost::asio::awaitable<Result<Published>> read();
  // What the one in force replaced.
  boost::asio::awaitable<Result<Published>> former();
  // Not done if another than `replaces` is in force.
  boost::asio::awaitable<Result<Publication>> publish(std::string replaces, std::string hash,
                                                      std::string document);

  const redis::ScriptCaller& caller() const noexcept { return *caller_; }

 private:
  boost::asio::awaitable<Result<redis::Reply>> ask(redis::ScriptArguments arguments, std::size_t elements);
  boost::asio::awaitable<Result<Published>> get(std::string_view what, std::size_t elements);
  redis::ScriptArguments open_call(std::string_view what) const;

  std::shared_ptr<redis::ScriptCaller> caller_;
  const std::string key_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace weir::store
