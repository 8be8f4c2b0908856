// SPDX-License-Identifier: Apache-2.0
#include "app/worker.hpp"

#include <chrono>
#include <random>

#include "telemetry/log.hpp"

namespace weir::app {
namespace {

std::shared_ptr<const http::ServerOptions> server_options(
    const std::shared_ptr<const pipeline::Runtime>& runtime) {
  return {runtime, &runtime->server};
}

// Concurrency slots are told apart by their owner. Drawn by chance, so that no two gateways of a fleet use
// one id at a time: 2^53 ids against the few thousand slots that are held at once.
std::uint64_t random_owner_base() {
  std::random_device device;
  return (std::uint64_t{device()} << 21) ^ device();
}

}  // namespace

Worker::Worker(std::size_t index, SharedParts shared, const std::shared_ptr<const pipeline::Runtime>& runtime)
    : shared_(std::move(shared)),
      loop_(io_, shared_.clock),
      forwarders_(loop_, shared_.clusters),
      stores_(io_, {runtime->store, runtime->node, index},
              {shared_.memory, *shared_.fleet, shared_.clock, shared_.leases.get(), shared_.all_regions.get(),
               shared_.parent_leases.get(), shared_.pools.get()}),
      slot_(runtime),
      slots_(stores_.top()),
      log_(shared_.metrics.worker(index), shared_.logs, loop_.turn_clock()),
      handler_({io_.get_executor(), loop_.turn_clock(), slot_, stores_.top(), slots_, forwarders_, log_,
                random_owner_base()}),
      server_(loop_, handler_, shared_.budget, server_options(runtime)),
      renew_timer_(io_),
      tick_timer_(io_) {
  forwarders_.update(runtime->clusters);
  log_.set_denial_sample(runtime->log.denial_sample);
}

Worker::~Worker() {
  stop();
  join();
}

void Worker::start() {
  thread_ = std::thread([this] { run(); });
}

void Worker::run() {
  renew_slots();
  tick();
  // Nothing on the request path throws by design; what does is logged, and costs the one request it happened
  // in.
  while (!io_.stopped()) {
    try {
      io_.run();
      return;
    } catch (const std::exception& error) {
      telemetry::log_error("worker.exception", error.what());
    }
  }
}

void Worker::publish(std::shared_ptr<const pipeline::Runtime> runtime) {
  post([this, runtime = std::move(runtime)] {
    forwarders_.update(runtime->clusters);
    server_.set_options(server_options(runtime));
    log_.set_denial_sample(runtime->log.denial_sample);
    slot_.set(runtime);
  });
}

void Worker::drain() {
  post([this] {
    stores_.leave_fleet();
    server_.drain();
  });
}

void Worker::stop() {
  post([this] {
    stopping_ = true;  // a timer that has expired already cannot be canceled, only told
    server_.stop();
    forwarders_.stop();
    stores_.close();
    renew_timer_.cancel();
    tick_timer_.cancel();
    loop_.stop();
  });
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

void Worker::renew_slots() {
  renew_timer_.expires_after(std::chrono::milliseconds(pipeline::SlotKeeper::kRenewEveryMs));
  renew_timer_.async_wait([this](error_code failed) {
    if (failed || stopping_) return;
    slots_.renew_all();
    renew_slots();
  });
}

void Worker::tick() {
  constexpr std::chrono::milliseconds kEvery(500);
  last_tick_ms_.store(shared_.clock.monotonic_ms(), std::memory_order_relaxed);
  tick_timer_.expires_after(kEvery);
  tick_timer_.async_wait([this](error_code failed) {
    if (failed || stopping_) return;
    const auto late = std::chrono::steady_clock::now() - tick_timer_.expiry();
    log_.tick(std::chrono::duration_cast<std::chrono::microseconds>(late).count());
    tick();
  });
}

}  // namespace weir::app
