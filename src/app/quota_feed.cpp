// SPDX-License-Identifier: Apache-2.0
#include "app/quota_feed.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>

#include "app/document_session.hpp"
#include "telemetry/log.hpp"

namespace weir::app {
namespace {

constexpr std::chrono::milliseconds kPatience(2000);  // of one call; a document may be large

}  // namespace

QuotaFeed::QuotaFeed(boost::asio::io_context& io, const store::StoreOptions& store, QuotaFeedOptions options,
                     std::string known, Arrived arrived)
    : options_(std::move(options)),
      caller_(
          store::make_caller(io.get_executor(), store, nullptr, store::PublishedDocument::kMostReplyBytes)),
      document_(caller_, options_.node, kPatience),
      arrived_(std::move(arrived)),
      timer_(io),
      known_(std::move(known)) {}

std::shared_ptr<QuotaFeed> QuotaFeed::start(boost::asio::io_context& io, const store::StoreOptions& store,
                                            QuotaFeedOptions options, std::string known, Arrived arrived) {
  auto feed =
      std::make_shared<QuotaFeed>(io, store, std::move(options), std::move(known), std::move(arrived));
  boost::asio::co_spawn(io, run(feed), boost::asio::detached);
  return feed;
}

void QuotaFeed::stop() {
  stopped_ = true;
  timer_.cancel();
  caller_->close();
}

std::string QuotaFeed::published_version() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

void QuotaFeed::note(const std::string& version) {
  answered_wall_ms_.store(system_clock().wall_ms(), std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  published_ = version;
}

boost::asio::awaitable<void> QuotaFeed::run(std::shared_ptr<QuotaFeed> self) {
  std::minstd_rand random(std::random_device{}());
  const auto every = self->options_.every.count();
  std::uniform_int_distribution<std::int64_t> jittered(every * 8 / 10, every);
  error_code ignored;
  auto token = boost::asio::redirect_error(boost::asio::use_awaitable, ignored);
  while (!self->stopped_) {
    co_await self->look();
    if (self->stopped_) co_return;
    // The connection takes a moment at first.
    const auto pause = self->answered_wall_ms() == 0 ? every / 10 : jittered(random);
    self->timer_.expires_after(std::chrono::milliseconds(pause));
    co_await self->timer_.async_wait(token);
  }
}

boost::asio::awaitable<void> QuotaFeed::look() {
  const Result<store::Published> seen = co_await document_.look();
  if (!seen || stopped_) co_return;
  note(seen->version);
  if (seen->version == known_) co_return;
  if (seen->version.empty()) {
    known_.clear();
    telemetry::log_warn("config.quotas_gone", "the store holds no quotas any more; those in force stay");
    co_return;
  }
  Result<store::Published> read = co_await document_.read();
  if (!read || stopped_ || read->version.empty()) co_return;
  note(read->version);
  known_ = read->version;
  arrived_(std::move(*read));
}

store::Published published_now(const store::StoreOptions& store, const std::string& node,
                               std::chrono::milliseconds patience) {
  DocumentSession session(store, node, patience);
  session.reach();
  Result<store::Published> read = session.ask(session.document().read());
  return read ? std::move(*read) : store::Published();
}

}  // namespace weir::app
