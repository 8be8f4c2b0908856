// SPDX-License-Identifier: Apache-2.0
#include "pipeline/cost.hpp"

#include <algorithm>
#include <charconv>

namespace weir::pipeline {
namespace {

std::optional<std::int64_t> positive_number(std::string_view text) noexcept {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

}  // namespace

std::int64_t request_cost(const http::RequestHead& head, std::string_view api, bool peer_trusted,
                          const CostOptions& options) noexcept {
  if (!options.request_header.empty() && peer_trusted) {
    const http::Field* field = head.find(options.request_header);
    const auto cost = field != nullptr ? positive_number(field->value) : std::nullopt;
    if (cost) return std::min(*cost, options.max_cost);
  }
  if (options.by_api.empty()) return 1;
  const auto found = options.by_api.find(api);
  return found == options.by_api.end() ? 1 : found->second;
}

std::optional<std::int64_t> true_cost(const upstream::ForwardResult& result, std::uint64_t body_bytes_sent,
                                      const CostOptions& options) noexcept {
  if (!options.settle_response_header.empty()) {
    if (!result.has_cost_header) return std::nullopt;
    return static_cast<std::int64_t>(
        std::min<std::uint64_t>(result.cost_header, std::uint64_t(options.max_cost)));
  }
  if (options.settle_bytes_per_permit == 0 || result.upstream_status == 0) return std::nullopt;
  const std::uint64_t unit = options.settle_bytes_per_permit;
  const std::uint64_t permits = body_bytes_sent / unit + (body_bytes_sent % unit != 0 ? 1 : 0);
  return static_cast<std::int64_t>(std::clamp<std::uint64_t>(permits, 1, std::uint64_t(options.max_cost)));
}

}  // namespace weir::pipeline
