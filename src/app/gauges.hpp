// SPDX-License-Identifier: Apache-2.0
// Figures that components keep themselves, as metric families for the scrape.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/quota_feed.hpp"
#include "app/worker.hpp"
#include "http/connection_budget.hpp"
#include "store/memory_store.hpp"
#include "weir/limit/limiter_chain.hpp"
#include "weir/telemetry/samples.hpp"

namespace weir::app {

using Workers = std::vector<std::unique_ptr<Worker>>;

// Thread-safe: they read atomics only.
std::vector<telemetry::SampleFamily> connection_families(const Workers& workers,
                                                         const http::ConnectionBudget& budget);
std::vector<telemetry::SampleFamily> tls_families(const Workers& workers);
std::vector<telemetry::SampleFamily> certificate_families(const pipeline::Runtime& runtime,
                                                          std::int64_t now_s);
// One line for each listener's certificate that is not valid at `now_s`, seconds since 1970.
std::vector<std::string> certificate_faults(const pipeline::Runtime& runtime, std::int64_t now_s);
std::vector<telemetry::SampleFamily> memory_families(const store::MemoryStore& memory);
std::vector<telemetry::SampleFamily> redis_families(const Workers& workers);  // empty in memory mode
std::vector<telemetry::SampleFamily> ladder_families(const Workers& workers,
                                                     const store::FleetShare& fleet);  // the same
// Empty if every request is counted exactly.
std::vector<telemetry::SampleFamily> lease_families(const Workers& workers, store::LeasePool* pool);
// Temporary overrides (spec QM-6) that are over at `now_ms` (wall), and the next one that will be.
std::vector<telemetry::SampleFamily> override_families(const limit::LimiterChain& chain, std::int64_t now_ms);
// Empty without a parent store.
std::vector<telemetry::SampleFamily> parent_families(const Workers& workers, const store::RegionPools* pools,
                                                     std::int64_t now_ms);
// feed: null while quotas come from a file.
std::vector<telemetry::SampleFamily> quota_families(const pipeline::Runtime& runtime, const QuotaFeed* feed,
                                                    std::int64_t now_ms);
std::vector<telemetry::SampleFamily> upstream_families(const Workers& workers,
                                                       const upstream::SharedClusters& clusters);

}  // namespace weir::app
