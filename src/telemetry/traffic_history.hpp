// SPDX-License-Identifier: Apache-2.0
// The last five minutes of traffic, second by second, for the status page: whoever opens it sees what led up
// to this moment. Bounded: kPoints samples of some 300 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace weir::telemetry {

class Metrics;

// Thread-safe. All counts are sums since the process started; readers take differences, so that a late or
// missing sample distorts no rate.
class TrafficHistory {
 public:
  static constexpr std::size_t kPoints = 300;
  static constexpr std::size_t kLayers = 32;  // as many as are told apart in the metrics

  // Takes one sample; to be called every second. `wall_ms` is for the axis only.
  void sample(const Metrics& metrics, std::int64_t wall_ms);

  // Appends {"layers":["node",...],"points":[[seq,wall_ms,allowed,refused,failed,by_layer...],...]}: the
  // points newer than `since`, oldest first; all of them where `since` is none of this process's. failed:
  // answers with a status of the 500s. by_layer: refused by each layer as the final one; what the layers do
  // not sum up to was refused by none (blocked, store down).
  void append_json(std::string& out, std::uint64_t since) const;

 private:
  struct Point {
    std::int64_t wall_ms = 0;
    std::uint64_t allowed = 0;
    std::uint64_t refused = 0;
    std::uint64_t failed = 0;
    std::array<std::uint64_t, kLayers> by_layer{};
  };
  void append_point(std::string& out, std::uint64_t seq) const;

  mutable std::mutex mutex_;
  std::array<Point, kPoints> points_;
  std::uint64_t taken_ = 0;  // sequence number of the newest; point n is at n % kPoints
  std::string layers_;       // as JSON
  std::size_t layer_count_ = 0;
};

}  // namespace weir::telemetry
