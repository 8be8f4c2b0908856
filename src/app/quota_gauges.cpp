// SPDX-License-Identifier: Apache-2.0
// Which quotas this instance has in force, so that a fleet that disagrees is seen.
#include "app/gauges.hpp"
#include "telemetry/families.hpp"

namespace weir::app {

std::vector<telemetry::SampleFamily> quota_families(const pipeline::Runtime& runtime, const QuotaFeed* feed,
                                                    std::int64_t now_ms) {
  using telemetry::SampleKind;
  const pipeline::QuotaOrigin& origin = runtime.quotas;
  std::vector<telemetry::SampleFamily> out;
  out.push_back({"weir_quotas_info",
                 "The quotas in force: their version, and where this instance has them from.",
                 SampleKind::gauge,
                 {{{{"node", runtime.node},
                    {"version", origin.version},
                    {"source", std::string(pipeline::name_of(origin.source))}},
                   1,
                   {}}}});
  if (feed != nullptr) {
    out.push_back(telemetry::gauge_family(
        "weir_quotas_source_age_seconds",
        "Since the store last said which quotas are published; if it never did, since it is asked.",
        static_cast<double>(now_ms - feed->silent_since_wall_ms()) / 1000));
  }
  return out;
}

}  // namespace weir::app
