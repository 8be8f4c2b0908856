// SPDX-License-Identifier: Apache-2.0
// Looks at the store for quotas that were pushed, every few seconds, at a moment of each instance's own. One
// small call a look; the document is read when its version is another. Has a connection of its own, so that a
// large document delays no request's call. A store that does not answer changes nothing.
//
// Threads: the io_context's one thread; what is const from any.
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "store/published_document.hpp"
#include "weir/base/clock.hpp"
#include "weir/store/options.hpp"

namespace weir::app {

struct QuotaFeedOptions {
  std::string node;
  std::chrono::milliseconds every{3000};
  bool operator==(const QuotaFeedOptions&) const = default;
};

class QuotaFeed : public std::enable_shared_from_this<QuotaFeed> {
 public:
  using Arrived = std::function<void(store::Published)>;

  // Begins to look. `known`: the version that need not arrive any more.
  static std::shared_ptr<QuotaFeed> start(boost::asio::io_context& io, const store::StoreOptions& store,
                                          QuotaFeedOptions options, std::string known, Arrived arrived);
  QuotaFeed(boost::asio::io_context& io, const store::StoreOptions& store, QuotaFeedOptions options,
            std::string known, Arrived arrived);

  void stop();
  const QuotaFeedOptions& options() const noexcept { return options_; }

  // What the store said last, and when (wall clock, ms; 0: it has not answered yet).
  std::string published_version() const;
  std::int64_t answered_wall_ms() const noexcept { return answered_wall_ms_.load(std::memory_order_relaxed); }
  // Since when it has said nothing (wall clock, ms): since it last answered, or since it is asked.
  std::int64_t silent_since_wall_ms() const noexcept { return std::max(answered_wall_ms(), begun_wall_ms_); }

 private:
  static boost::asio::awaitable<void> run(std::shared_ptr<QuotaFeed> self);
  boost::asio::awaitable<void> look();
  void note(const std::string& version);

  const QuotaFeedOptions options_;
  std::shared_ptr<redis::ScriptCaller> caller_;
  store::PublishedDocument document_;
  const Arrived arrived_;
  boost::asio::steady_timer timer_;
  std::string known_;
  bool stopped_ = false;
  const std::int64_t begun_wall_ms_ = system_clock().wall_ms();
  std::atomic<std::int64_t> answered_wall_ms_{0};
  mutable std::mutex mutex_;
  std::string published_;
};

// One look at start-up, of at most `patience`. A version of "": nothing is published, or the store is not
// there.
store::Published published_now(const store::StoreOptions& store, const std::string& node,
                               std::chrono::milliseconds patience);

}  // namespace weir::app
