// SPDX-License-Identifier: Apache-2.0
#include "store/ladder_share.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace weir::store {
namespace {

constexpr std::string_view kMark = "local:";
constexpr double kHeadroom = 1.2;
constexpr double kSteps = 8;  // to each doubling

std::int64_t part(std::int64_t whole, double factor) {
  return std::max<std::int64_t>(1, std::llround(std::ceil(static_cast<double>(whole) * factor - 1e-6)));
}

bool is_bucket(limit::AlgorithmKind kind) {
  using enum limit::AlgorithmKind;
  return kind == token_bucket || kind == gcra || kind == leaky_bucket;
}

bool stretches(const limit::Terms& terms) {
  return !terms.calendar && terms.algorithm != limit::AlgorithmKind::concurrency;
}

}  // namespace

double local_factor(double share, bool learned) {
  const double factor = std::min(1.0, kHeadroom * share);
  if (!learned || factor >= 1.0) return factor;
  return std::exp2(std::floor(kSteps * std::log2(factor)) / kSteps);
}

limit::Terms scaled(const limit::Terms& whole, double factor, std::int64_t cost) {
  limit::Terms terms = whole;
  terms.limit = part(whole.limit, factor);
  terms.burst = part(whole.burst, factor);
  if (stretches(whole)) {
    const double exact = static_cast<double>(whole.limit) * factor;
    const double window = static_cast<double>(whole.window_ms) * static_cast<double>(terms.limit) / exact;
    terms.window_ms = std::max(whole.window_ms, static_cast<std::int64_t>(std::ceil(window - 1e-6)));
  }
  std::int64_t& capacity = is_bucket(whole.algorithm) ? terms.burst : terms.limit;
  capacity = std::max(capacity, std::min(cost, limit::capacity_of(whole)));
  return terms;
}

void LocalSet::add(const limit::Charge& charge, std::size_t origin, double factor, std::int64_t cost) {
  limit::Policy& policy = policies_[set.size];
  policy.terms = scaled(charge.policy->terms, factor, charge.request.cost);
  policy.enforcement = charge.enforcement;
  limit::Charge& copy = set.charge[set.size];
  copy.policy = &policy;
  copy.key = mark(charge.key, policy.terms);
  copy.request = charge.request;
  copy.request.cost = cost;
  copy.enforcement = charge.enforcement;
  copy.charged = charge.charged;
  origins_[set.size++] = origin;
}

std::string_view LocalSet::mark(std::string_view key, const limit::Terms& terms) {
  char* const begin = keys_.data() + used_;
  char* end = begin;
  std::memcpy(end, kMark.data(), kMark.size());
  end += kMark.size();
  if (stretches(terms)) {
    end = std::to_chars(end, end + 20, terms.window_ms).ptr;
    *end++ = ':';
  }
  std::memcpy(end, key.data(), key.size());
  end += key.size();
  used_ = static_cast<std::size_t>(end - keys_.data());
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace weir::store
