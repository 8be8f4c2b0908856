// SPDX-License-Identifier: Apache-2.0
// Looks at single counters of the running gateway and makes them fresh ones (spec OB-6), for the admin port.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "admin/admin_source.hpp"
#include "app/gauges.hpp"
#include "store/memory_store.hpp"
#include "weir/base/clock.hpp"

namespace weir::app {

// A reset is confirmed with what the look at the same counter gave: `confirm`, good for five to ten minutes
// and for that counter alone. A counter that was reset counts from zero for the whole fleet at once where
// each request is counted in the store; permits that a process has leased, and refusals it remembers, last
// for up to a second more. Of a global layer, what this region holds of it is given up with it; what other
// regions hold lasts for up to store.parent.ttl more.
//
// Called on the admin thread, one at a time.
class CounterDesk {
 public:
  // All outlive it.
  CounterDesk(const Workers& workers, store::MemoryStore& memory, const Clock& clock);

  // Without a layer: the layers and their keys. 400, 404 and 409 say in `error` what is wrong; 503: the store
  // did not answer.
  admin::SourceAnswer read(std::shared_ptr<const pipeline::Runtime> runtime,
                           const admin::CounterRequest& request) const;
  // Leaves a log line that says who, which counter, and how much it had counted.
  admin::SourceAnswer reset(std::shared_ptr<const pipeline::Runtime> runtime,
                            const admin::CounterRequest& request, std::string_view peer) const;

 private:
  struct Found;
  std::string confirmation(std::string_view counter, std::int64_t period) const;
  bool confirms(std::string_view given, std::string_view counter) const;
  bool peek(const std::shared_ptr<Found>& found) const;
  // How many there were, 0 or 1; -1: the store did not answer.
  std::int64_t forget(const Found& found) const;

  const Workers& workers_;
  store::MemoryStore& memory_;
  const Clock& clock_;
  const std::string secret_;
};

}  // namespace weir::app
