// SPDX-License-Identifier: Apache-2.0
#include "config/resolve.hpp"

#include <algorithm>
#include <cmath>

namespace weir::config {

namespace {

using limit::AlgorithmKind;
using limit::CalendarUnit;

constexpr std::int64_t kDefaultWindowMs = 60'000;
constexpr std::int64_t kIpWindowMs = 1000;
constexpr std::int64_t kSlotLifeMs = 5000;
constexpr std::int64_t kDefaultMaxDelayMs = 1000;

template <class T>
std::optional<T> first(const std::optional<T>& own, const std::optional<T>& layer) {
  return own ? own : layer;
}

class Resolution {
 public:
  Resolution(const LayerSpec& layer, const LimitSpec& spec, const LimitSpec* inherited,
             Diagnostics& diagnostics)
      : layer_(layer), own_(spec.settings), spec_(spec), inherited_(inherited), diagnostics_(diagnostics) {}

  std::optional<limit::Policy> run() {
    policy_.layer = layer_.name;
    policy_.source = diagnostics_.place(spec_.at);
    policy_.access = access();
    if (policy_.access != limit::Access::limited) return policy_;
    fill_limit();
    fill_window_and_algorithm();
    fill_capacity();
    fill_behaviour();
    check_stray_settings();
    if (!good_) return std::nullopt;
    return policy_;
  }

 private:
  void error(std::string text) {
    diagnostics_.error(spec_.at, spec_.path, std::move(text));
    good_ = false;
  }

  bool inherits_limit() const {
    return spec_.access == limit::Access::limited && !spec_.limit && !spec_.capacity_percent;
  }

  limit::Access access() const {
    return inherits_limit() && inherited_ != nullptr ? inherited_->access : spec_.access;
  }

  void fill_limit() {
    const LimitSpec* from = &spec_;
    if (inherits_limit()) from = inherited_;
    if (from == nullptr || (!from->limit && !from->capacity_percent)) {
      error("has no limit and the layer has no default to inherit; write limit");
      return;
    }
    policy_.terms.limit = from->limit.value_or(0);
    if (!from->capacity_percent) return;
    if (!layer_.capacity) {
      error("is a share, but the layer states no `capacity` to take it of");
      return;
    }
    policy_.terms.limit = std::max<std::int64_t>(1, layer_.capacity->value * *from->capacity_percent / 100);
  }

  void fill_window_and_algorithm() {
    const std::optional<AlgorithmKind> written = first(own_.algorithm, layer_.settings.algorithm);
    AlgorithmKind& algorithm = policy_.terms.algorithm;
    algorithm = written.value_or(default_algorithm(layer_.name));
    std::optional<Window> window = own_.window;
    if (!window && inherits_limit() && inherited_ != nullptr) window = inherited_->settings.window;
    if (!window) window = layer_.settings.window;
    policy_.terms.window_ms = window ? window->ms : default_window();
    if (!window || window->calendar == CalendarUnit::none) return;
    policy_.calendar = window->calendar;
    policy_.terms.calendar = true;
    policy_.time_zone = layer_.time_zone ? layer_.time_zone->value : "UTC";
    if (written && *written != AlgorithmKind::fixed_window) {
      error(
          "counts by calendar (day, month), which is a fixed_window; write a rolling window such as 24h, or "
          "algorithm: fixed_window");
    }
    algorithm = AlgorithmKind::fixed_window;
  }

  std::int64_t default_window() const {
    if (policy_.terms.algorithm == AlgorithmKind::concurrency) return kSlotLifeMs;
    return layer_.name == "ip" ? kIpWindowMs : kDefaultWindowMs;
  }

  void fill_capacity() {
    limit::Terms& terms = policy_.terms;
    terms.burst = terms.limit;
    if (is_bucket(terms.algorithm)) {
      const std::int64_t usual = terms.algorithm == AlgorithmKind::leaky_bucket ? 1 : terms.limit;
      terms.burst = first(own_.burst, layer_.settings.burst).value_or(usual);
    }
    if (terms.algorithm == AlgorithmKind::sliding_window) {
      const std::int64_t usual = layer_.name == "node" ? 100 : 10;
      terms.cells = first(own_.cells, layer_.settings.cells).value_or(usual);
    }
    if (terms.algorithm == AlgorithmKind::leaky_bucket) {
      terms.max_wait_ms = first(own_.max_wait_ms, layer_.settings.max_wait_ms).value_or(0);
    }
    const std::int64_t most = std::max(terms.limit, terms.burst);
    if (terms.window_ms > 0 && most > kMaxExact / terms.window_ms) {
      error("is too large for its window: limit (or burst) times the window in ms has to stay below 2^53");
    }
    if (terms.algorithm == AlgorithmKind::sliding_log && terms.limit > 10'000) {
      error(
          "is too large for sliding_log, which keeps an entry per permit; at most 10000, or use "
          "sliding_window");
    }
  }

  void fill_behaviour() {
    const Settings& shared = layer_.settings;
    policy_.enforcement = first(own_.mode, shared.mode).value_or(limit::Enforcement::enforce);
    policy_.enforce_percent =
        static_cast<std::uint8_t>(first(own_.enforce_percent, shared.enforce_percent).value_or(100));
    if (const std::optional<double> share = first(own_.warn_at, shared.warn_at)) {
      const auto capacity = static_cast<double>(limit::capacity_of(policy_.terms));
      policy_.warn_at =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(*share * capacity - 1e-9)));
    }
    policy_.on_exceed = first(own_.on_exceed, shared.on_exceed).value_or(limit::OnExceed::reject);
    if (policy_.on_exceed == limit::OnExceed::delay) {
      policy_.max_delay_ms = first(own_.max_delay_ms, shared.max_delay_ms).value_or(kDefaultMaxDelayMs);
    }
    policy_.on_brief_failure = first(own_.brief, shared.brief).value_or(limit::FailureMode::local);
    policy_.on_long_failure = first(own_.lasting, shared.lasting).value_or(limit::FailureMode::local);
    policy_.hashed_offset = layer_.hashed_offset && !policy_.terms.calendar;
    policy_.scope = layer_.scope.value;
  }

  // A setting that this limit itself states and its algorithm has no use for is a misunderstanding.
  void check_stray_settings() {
    const AlgorithmKind algorithm = policy_.terms.algorithm;
    const std::string name(limit::name_of(algorithm));
    if (own_.burst && !is_bucket(algorithm)) {
      error("states a burst, but " + name + " has none; token_bucket, gcra and leaky_bucket do");
    }
    if (own_.cells && algorithm != AlgorithmKind::sliding_window) {
      error("states cells, but " + name + " has none; sliding_window does");
    }
    if (own_.max_wait_ms && algorithm != AlgorithmKind::leaky_bucket) {
      error("states max_wait, but " + name + " never waits; leaky_bucket does (or use on_exceed: delay)");
    }
    if (own_.max_delay_ms && policy_.on_exceed != limit::OnExceed::delay) {
      error("states max_delay without on_exceed: delay");
    }
  }

  const LayerSpec& layer_;
  const Settings& own_;
  const LimitSpec& spec_;
  const LimitSpec* inherited_;
  Diagnostics& diagnostics_;
  limit::Policy policy_;
  bool good_ = true;
};

}  // namespace

limit::AlgorithmKind default_algorithm(std::string_view layer) {
  if (layer == "node") return AlgorithmKind::sliding_window;
  if (layer == "api" || layer == "caller_api" || layer == "ip") return AlgorithmKind::fixed_window;
  return AlgorithmKind::token_bucket;
}

bool is_bucket(limit::AlgorithmKind algorithm) noexcept {
  return algorithm == AlgorithmKind::token_bucket || algorithm == AlgorithmKind::gcra ||
         algorithm == AlgorithmKind::leaky_bucket;
}

std::optional<limit::Policy> resolve(const LayerSpec& layer, const LimitSpec& spec,
                                     const LimitSpec* inherited, Diagnostics& diagnostics) {
  return Resolution(layer, spec, inherited, diagnostics).run();
}

const LayerSpec* find_layer(const QuotaSpec& quotas, std::string_view name) {
  for (const LayerSpec& layer : quotas.layers) {
    if (layer.name == name) return &layer;
  }
  return nullptr;
}

std::optional<LayerSpec> caller_api_layer(const QuotaSpec& quotas) {
  const LayerSpec* const caller = find_layer(quotas, "caller");
  if (caller == nullptr) return std::nullopt;
  const auto nested = std::find_if(caller->overrides.begin(), caller->overrides.end(),
                                   [](const OverrideSpec& one) { return !one.api_limits.empty(); });
  if (nested == caller->overrides.end()) return std::nullopt;
  LayerSpec layer;
  if (const LayerSpec* const api = find_layer(quotas, "api")) {
    layer.settings = api->settings;
    layer.hashed_offset = api->hashed_offset;
    layer.scope = api->scope;
    layer.time_zone = api->time_zone;
  }
  layer.name = "caller_api";
  layer.at = nested->limit.at;
  layer.path = nested->limit.path + ".api";
  layer.key = {{"caller", layer.at, layer.path}, {"api", layer.at, layer.path}};
  return layer;
}

void visit_limits(const QuotaSpec& quotas, const LimitVisitor& visit) {
  const LayerSpec* const user = find_layer(quotas, "user");
  const std::optional<LayerSpec> caller_api = caller_api_layer(quotas);
  for (const LayerSpec& layer : quotas.layers) {
    const LimitSpec* const fallback = layer.fallback ? &*layer.fallback : nullptr;
    if (fallback != nullptr) visit(layer, *fallback, nullptr, LimitPlace::fallback);
    if (layer.anonymous) visit(layer, *layer.anonymous, fallback, LimitPlace::anonymous);
    for (const KeyedLimit& tier : layer.tiers) visit(layer, tier.limit, fallback, LimitPlace::tier);
    for (const OverrideSpec& one : layer.overrides) {
      if (one.has_own_limit) visit(layer, one.limit, fallback, LimitPlace::override_);
      const LimitSpec* const user_fallback = user != nullptr && user->fallback ? &*user->fallback : nullptr;
      const LimitSpec* const nested = one.user_default ? &*one.user_default : user_fallback;
      if (user != nullptr && one.user_default)
        visit(*user, *one.user_default, user_fallback, LimitPlace::nested);
      if (user != nullptr) {
        for (const KeyedLimit& limit : one.user_overrides)
          visit(*user, limit.limit, nested, LimitPlace::nested);
      }
      for (const KeyedLimit& limit : one.api_limits)
        visit(*caller_api, limit.limit, nullptr, LimitPlace::nested);
    }
  }
}

}  // namespace weir::config
