// SPDX-License-Identifier: Apache-2.0
#include "store/chain_call.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::Charge;
using limit::ChargeSet;

constexpr std::size_t kReplyStride = 6;  // within, remaining, retry, reset, wait, charged
constexpr std::size_t kLeaseStride = 8;  // and granted, next

bool has_lease(const ChargeSet& set) {
  return std::ranges::any_of(set.charges(), [](const Charge& charge) { return charge.lease != nullptr; });
}

// Numbers with colons between them.
class NumberText {
 public:
  void add(std::int64_t value) {
    if (size_ > 0) text_[size_++] = ':';
    const auto end = std::to_chars(text_.data() + size_, text_.data() + text_.size(), value);
    size_ = static_cast<std::size_t>(end.ptr - text_.data());
  }
  std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 256> text_;
  std::size_t size_ = 0;
};

// What only this layer's algorithm needs, as text; see `terms` in lua/algorithms/*.lua.
class TermsText : public NumberText {
 public:
  explicit TermsText(const Charge& charge) {
    const limit::Terms& terms = charge.policy->terms;
    switch (terms.algorithm) {
      case AlgorithmKind::fixed_window:
        if (terms.calendar) {
          for (const std::int64_t bound : charge.request.bounds.at) add(bound);
          break;
        }
        [[fallthrough]];
      case AlgorithmKind::sliding_counter:
        add(charge.request.offset_ms);
        break;
      case AlgorithmKind::sliding_window:
        add(terms.cells);
        break;
      case AlgorithmKind::sliding_log:
        break;
      case AlgorithmKind::token_bucket:
      case AlgorithmKind::gcra:
        add(terms.burst);
        break;
      case AlgorithmKind::leaky_bucket:
        add(terms.burst);
        add(terms.max_wait_ms);
        break;
      case AlgorithmKind::concurrency:
        add(static_cast<std::int64_t>(charge.request.owner));
        break;
    }
  }
};

void write_layer(const Charge& charge, std::int64_t cost, redis::ScriptArguments& out) {
  const limit::Terms& terms = charge.policy->terms;
  const bool shadow = charge.enforcement == limit::Enforcement::shadow;
  out.add(limit::name_of(terms.algorithm));
  out.add(std::string_view(shadow ? "shadow" : "enforce"));
  out.add(terms.limit);
  out.add(terms.window_ms);
  out.add(cost);
  out.add(TermsText(charge).view());
}

// Empty where the layer takes nothing beyond its cost.
void write_lease(const limit::Lease* lease, redis::ScriptArguments& out) {
  NumberText text;
  if (lease != nullptr) {
    for (const std::int64_t value : {lease->more, lease->least, lease->permille, lease->life_ms})
      text.add(value);
    for (const auto* moments : {&lease->back, &lease->spent}) {
      for (const limit::Lease::Spent& moment : *moments) {
        text.add(moment.count);
        text.add(moment.at_ms);
      }
    }
  }
  out.add(text.view());
}

bool concerns(const Charge& charge, bool slots) {
  const bool is_slot = charge.policy->terms.algorithm == AlgorithmKind::concurrency;
  return charge.charged && charge.answered == limit::Answered::store && is_slot == slots;
}

bool is_flag(std::int64_t value) {
  return value == 0 || value == 1;
}

}  // namespace

void write_question(const ChargeSet& set, std::string_view operation, redis::ScriptArguments& out) {
  const bool relaxed = set.accounting == limit::Accounting::relaxed;
  const bool leases = operation == "decide" && has_lease(set);
  out.start(set.size);
  for (const Charge& charge : set.charges()) out.add(charge.key);
  out.add(leases ? std::string_view("lease") : operation);
  out.add(std::string_view(relaxed ? "relaxed" : "all_or_none"));
  for (const Charge& charge : set.charges()) {
    write_layer(charge, charge.request.cost, out);
    if (leases) write_lease(charge.lease, out);
  }
}

bool write_notice(const ChargeSet& set, std::string_view operation, std::int64_t delta,
                  redis::ScriptArguments& out) {
  const bool settles = operation == "settle";
  const auto wanted = [settles](const Charge& charge) { return concerns(charge, !settles); };
  const auto count = std::ranges::count_if(set.charges(), wanted);
  if (count == 0) return false;
  out.start(static_cast<std::size_t>(count));
  for (const Charge& charge : set.charges()) {
    if (wanted(charge)) out.add(charge.key);
  }
  out.add(operation);
  out.add(set.store_now_ms);
  for (const Charge& charge : set.charges()) {
    if (wanted(charge)) write_layer(charge, settles ? delta : charge.request.cost, out);
  }
  return true;
}

bool read_answer(const redis::Reply& reply, ChargeSet& set) {
  using Type = redis::Reply::Type;
  const std::span elements(reply.elements);
  const std::size_t stride = has_lease(set) ? kLeaseStride : kReplyStride;
  if (reply.type != Type::array || elements.size() != 1 + set.size * stride) return false;
  const auto is_integer = [](const redis::Reply& element) { return element.type == Type::integer; };
  if (!std::ranges::all_of(elements, is_integer)) return false;
  const std::int64_t now_ms = elements[0].integer;
  for (std::size_t n = 0; n < set.size; ++n) {
    const auto of_layer = elements.subspan(1 + n * stride, stride);
    const auto value = [of_layer](std::size_t field) { return of_layer[field].integer; };
    if (!is_flag(value(0)) || !is_flag(value(5))) return false;
    if (value(1) < 0 || value(2) < limit::kNever || value(3) < 0 || value(4) < 0) return false;
    Charge& charge = set.charge[n];
    if (charge.lease != nullptr) {
      if (value(6) < 0 || value(7) < limit::kNever) return false;
      charge.lease->granted = value(6);
      charge.lease->next_ms = value(7);
    }
    charge.answered = limit::Answered::store;
    charge.charged = value(5) == 1;
    charge.request.now_ms = now_ms;
    charge.verdict = {.within_limit = value(0) == 1,
                      .limit = charge.policy->terms.limit,
                      .remaining = value(1),
                      .retry_after_ms = value(2),
                      .reset_ms = value(3),
                      .wait_ms = value(4)};
  }
  set.store_now_ms = now_ms;
  return true;
}

}  // namespace weir::store
