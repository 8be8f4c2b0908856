// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "config/lint.hpp"
#include "config/resolve.hpp"
#include "identity/path_table.hpp"

namespace weir::config {

namespace {

constexpr std::int64_t kMinuteMs = 60'000, kHourMs = 60 * kMinuteMs, kDayMs = 24 * kHourMs;

// "2 d 3 h", "5 h 10 min", "7 min"
std::string span_text(std::int64_t ms) {
  const auto pair = [](std::int64_t large, const char* large_unit, std::int64_t small, const char* unit) {
    std::string text = std::to_string(large) + large_unit;
    return small == 0 ? text : text + " " + std::to_string(small) + unit;
  };
  if (ms >= kDayMs) return pair(ms / kDayMs, " d", ms % kDayMs / kHourMs, " h");
  if (ms >= kHourMs) return pair(ms / kHourMs, " h", ms % kHourMs / kMinuteMs, " min");
  return std::to_string(std::max<std::int64_t>(1, ms / kMinuteMs)) + " min";
}

// Whether the earlier one holds at every moment at which the later one could.
bool covers(const LimitSpec& earlier, const LimitSpec& later) {
  const std::int64_t begins = later.from_ms.value_or(INT64_MIN), ends = later.until_ms.value_or(INT64_MAX);
  return earlier.from_ms.value_or(INT64_MIN) <= begins && earlier.until_ms.value_or(INT64_MAX) >= ends;
}

// Two spellings of one path pattern name one API.
std::string value_of(const LayerSpec& layer, const std::string& written) {
  if (!ends_with_dimension(layer, "api")) return written;
  std::string why;
  const auto pattern = identity::parse_path_pattern(written, why);
  if (!pattern) return written;
  std::string out = pattern->method;
  bool name = false;
  for (const char c : pattern->path) {  // names of {name} do not count
    if (!name) out += c;
    if (c == '{') name = true;
    if (c == '}') name = false;
  }
  return out;
}

void check_shadowed(const LayerSpec& layer, Diagnostics& diagnostics) {
  std::map<std::string, std::vector<const LimitSpec*>> seen;
  for (const OverrideSpec& one : layer.overrides) {
    if (!one.has_own_limit) continue;
    auto& earlier = seen[value_of(layer, one.value)];
    for (const LimitSpec* const first : earlier) {
      if (!covers(*first, one.limit)) continue;
      diagnostics.warning(one.limit.at, one.limit.path,
                          "is shadowed: an earlier override of the same value, at " +
                              diagnostics.place(first->at) + ", holds whenever this one would");
      break;
    }
    earlier.push_back(&one.limit);
  }
}

void check_times(const LimitSpec& spec, const std::string& fallback, std::int64_t now_ms,
                 Diagnostics& diagnostics) {
  if (spec.from_ms && *spec.from_ms > now_ms) {
    diagnostics.note(spec.at, spec.path,
                     "is not in force yet; it begins in " + span_text(*spec.from_ms - now_ms));
  }
  const bool soon = spec.until_ms && *spec.until_ms > now_ms && *spec.until_ms - now_ms <= kEndsSoonMs;
  if (!soon) return;
  diagnostics.warning(
      spec.at, spec.path,
      "ends in " + span_text(*spec.until_ms - now_ms) + "; then " + fallback + " holds again");
}

}  // namespace

void lint_overrides(const Document& document, std::int64_t now_ms, Diagnostics& diagnostics) {
  for (const LayerSpec& layer : document.quotas.layers) check_shadowed(layer, diagnostics);
  visit_limits(document.quotas,
               [&](const LayerSpec& layer, const LimitSpec& spec, const LimitSpec*, LimitPlace place) {
                 if (place == LimitPlace::override_ || place == LimitPlace::nested)
                   check_times(spec, "what else is said of limit." + layer.name, now_ms, diagnostics);
               });
}

}  // namespace weir::config
