// SPDX-License-Identifier: Apache-2.0
// What one worker counts. Counters take no lock, allocate nothing and look no label set up; rankings do
// remember new names, in bounded memory. A request costs some 200 ns. Sums over workers are made at the
// scrape (families.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "telemetry/counters.hpp"
#include "telemetry/name_set.hpp"
#include "telemetry/ranking.hpp"
#include "weir/telemetry/records.hpp"

namespace weir::telemetry {

// The label values that come from the configuration. Shared by all workers.
struct MetricNames {
  NameSet layers{32};
  NameSet callers{256};
  NameSet apis{256};
  NameSet endpoints{256};  // "cluster host:port"
  NameSet dimensions{24};
};

inline constexpr std::array<std::string_view, 4> kLayerOutcomes{"allowed", "denied", "shadow_denied",
                                                                "warned"};
inline constexpr std::array<std::string_view, 4> kAnswers{"store", "local", "failed_open", "failed_shut"};
inline constexpr std::array<std::string_view, 7> kRequestOutcomes{
    "allowed", "over_limit", "not_judged", "blocked", "cost_too_large", "store_down", "other"};
inline constexpr std::array<std::string_view, 6> kStatusClasses{"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
inline constexpr std::array<std::string_view, 18> kUpstreamOutcomes{"none",
                                                                    "1xx",
                                                                    "2xx",
                                                                    "3xx",
                                                                    "4xx",
                                                                    "5xx",
                                                                    "reset",
                                                                    "connect_failed",
                                                                    "no_endpoint",
                                                                    "connect_timeout",
                                                                    "response_timeout",
                                                                    "bad_response",
                                                                    "client_gone",
                                                                    "body_refused",
                                                                    "tls_failed",
                                                                    "queue_full",
                                                                    "queue_timeout",
                                                                    "other"};
inline constexpr std::array<std::string_view, 3> kMissingPolicies{"anonymous", "ip", "reject"};

inline constexpr std::array<std::string_view, 12> kAuthFailures{
    "missing",   "contradictory", "unknown_api_key", "malformed", "algorithm", "unknown_key",
    "signature", "expired",       "not_yet_valid",   "issuer",    "audience",  "other"};

// Upper bounds, microseconds.
inline constexpr std::array<std::int64_t, 16> kRequestBounds{
    500,    1000,   2500,    5000,    10000,   25000,    50000,    100000,
    250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000, 60000000};
// Used share of a limit, percent.
inline constexpr std::array<std::int64_t, 8> kFillBounds{10, 25, 50, 75, 80, 90, 95, 100};

struct LayerCounters {
  std::array<Counter, kLayerOutcomes.size()> decisions;
  std::array<Counter, kAnswers.size()> answers;
  Counter final_hits;
  Counter charged_after_switch;
  Histogram fill{kFillBounds};
};

struct AllowedDenied {
  Counter allowed;
  Counter denied;
};

// The figures themselves; each array's last entry is `other`.
struct WorkerCounters {
  explicit WorkerCounters(const MetricNames& names);

  std::vector<LayerCounters> layers;
  std::vector<AllowedDenied> callers;
  std::vector<AllowedDenied> apis;
  std::vector<std::array<Counter, kUpstreamOutcomes.size()>> endpoints;
  std::array<Counter, kRequestOutcomes.size()> outcomes;
  std::array<Counter, kStatusClasses.size()> statuses;
  std::array<Counter, kStatusClasses.size()> malformed;               // by status class sent
  std::vector<std::array<Counter, kMissingPolicies.size()>> missing;  // by dimension
  std::array<Counter, kAuthFailures.size()> auth_failures;
  Counter exempt;
  Counter request_bytes;
  Counter response_bytes;
  Histogram request_us{kRequestBounds};
  Histogram upstream_us{kRequestBounds};
  Histogram limiter_us{kQuickBounds};
  Histogram loop_lag_us{kQuickBounds};
  std::atomic<std::int64_t> busy_us{0};
  std::atomic<std::int64_t> held{0};
};

// One per worker; every call on its thread.
class alignas(64) WorkerMetrics {
 public:
  explicit WorkerMetrics(const MetricNames& names) : names_(names), finds_(names), counters_(names) {}

  void record(const RequestRecord& record) noexcept;

  // A request answered before it became an exchange.
  void malformed(int status) noexcept;
  // A policy of kMissingPolicies was applied.
  void identity_missing(std::string_view dimension, std::string_view policy) noexcept;
  // A reason of kAuthFailures.
  void authentication_failed(std::string_view reason) noexcept;
  // Requests held back: +1, -1.
  void held(int change) noexcept;
  // Processor time that this worker's thread has used since it began.
  void busy(std::int64_t total_us) noexcept { counters_.busy_us.store(total_us, std::memory_order_relaxed); }
  // How late a timer of the worker's loop fired.
  void loop_lag(std::int64_t microseconds) noexcept { counters_.loop_lag_us.observe(microseconds); }

  // Readable from any thread.
  const WorkerCounters& counters() const noexcept { return counters_; }
  const WorkerRanking& ranking() const noexcept { return ranking_; }

 private:
  void record_layers(const RequestRecord& record) noexcept;
  void record_upstream(const RequestRecord& record) noexcept;

  struct Finds {
    explicit Finds(const MetricNames& names)
        : layers(names.layers), callers(names.callers), apis(names.apis), endpoints(names.endpoints) {}
    NameMemo layers;
    NameMemo callers;
    NameMemo apis;
    NameMemo endpoints;
  };

  const MetricNames& names_;
  Finds finds_;
  WorkerCounters counters_;
  WorkerRanking ranking_;
};

}  // namespace weir::telemetry
