// SPDX-License-Identifier: Apache-2.0
#include "store/chain_call.hpp"

#include <algorithm>
#include <charconv>

#include "base/hash.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::Charge;
using limit::ChargeSet;

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
  std::array<char, 400> text_;
  std::size_t size_ = 0;
};

// What only this counter's algorithm needs, as text; see `terms` in lua/algorithms/*.lua.
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
      case AlgorithmKind::concurrency:
        break;
      case AlgorithmKind::token_bucket:
      case AlgorithmKind::gcra:
        add(terms.burst);
        break;
      case AlgorithmKind::leaky_bucket:
        add(terms.burst);
        add(terms.max_wait_ms);
        break;
    }
  }
};

// What a layer says beside its place: the cost, and after it what only this request has.
class CostText : public NumberText {
 public:
  CostText(const Charge& charge, std::int64_t cost) {
    add(cost);
    if (charge.policy->terms.algorithm == AlgorithmKind::concurrency) {
      add(static_cast<std::int64_t>(charge.request.owner));
    } else if (charge.lease != nullptr) {
      add_lease(*charge.lease);
    }
  }

 private:
  void add_lease(const limit::Lease& lease) {
    for (const std::int64_t value : {lease.more, lease.least, lease.permille, lease.life_ms}) add(value);
    for (const auto* moments : {&lease.back, &lease.spent}) {
      for (const limit::Lease::Spent& moment : *moments) {
        add(moment.count);
        add(moment.at_ms);
      }
    }
    if (lease.seen.ends_ms == 0) return;
    for (const std::int64_t value : {lease.seen.used, lease.seen.ends_ms, lease.seen.at_ms}) add(value);
  }
};

// Whether both mean one counter that is judged in one way.
bool same_terms(const Charge& one, const Charge& other) {
  if (one.policy != other.policy && one.policy->terms != other.policy->terms) return false;
  if (one.policy->terms.calendar) return one.request.bounds.at == other.request.bounds.at;
  return one.request.offset_ms == other.request.offset_ms;
}

bool concerns(const Charge& charge, bool slots) {
  const bool is_slot = charge.policy->terms.algorithm == AlgorithmKind::concurrency;
  return charge.charged && charge.answered == limit::Answered::store && is_slot == slots;
}

}  // namespace

// -------------------------------------------------------------------------------------------- questions

void ChainCall::start(std::string_view operation, limit::Accounting accounting) {
  start(operation);
  accounting_ = accounting;
  head_.add(std::string_view(accounting == limit::Accounting::relaxed ? "relaxed" : "all_or_none"));
}

void ChainCall::start(std::string_view operation, std::int64_t charged_at_ms) {
  start(operation);
  head_.add(charged_at_ms);
}

void ChainCall::start(std::string_view operation) {
  settles_ = operation == "settle";
  layers_ = 0;
  counters_.clear();
  table_.fill(0);
  for (redis::ScriptArguments* part : {&keys_, &head_, &requests_}) part->clear();
  head_.add(operation);
}

bool ChainCall::add(const ChargeSet& set) {
  if (layers_ > 0 && !fits(set)) return false;
  requests_.add(static_cast<std::int64_t>(set.size));
  for (const Charge& charge : set.charges()) add_layer(charge, charge.request.cost);
  return true;
}

bool ChainCall::add_notice(const ChargeSet& set, std::int64_t delta) {
  const auto wanted = [this](const Charge& charge) { return concerns(charge, !settles_); };
  const std::int64_t count = std::ranges::count_if(set.charges(), wanted);
  if (count == 0) return false;
  requests_.add(count);
  for (const Charge& charge : set.charges()) {
    if (wanted(charge)) add_layer(charge, settles_ ? delta : charge.request.cost);
  }
  return true;
}

void ChainCall::write(redis::ScriptArguments& out) const {
  out.clear();
  out.start(counters_.size());
  for (const redis::ScriptArguments* part : {&keys_, &head_, &requests_}) out.add(*part);
}

bool ChainCall::fits(const ChargeSet& set) const {
  const std::size_t bytes = keys_.tail.size() + head_.tail.size() + requests_.tail.size();
  if (layers_ + set.size > kMostLayers || bytes > kMostBytes || set.accounting != accounting_) return false;
  return std::ranges::all_of(set.charges(), [this](const Charge& charge) {
    const std::uint16_t place = table_[seat_of(charge.key)];
    return place == 0 || same_terms(*counters_[place - 1], charge);
  });
}

// Where the key is in the table, or would be.
std::size_t ChainCall::seat_of(std::string_view key) const {
  std::size_t seat = stable_hash(key, process_seed()) % kTable;
  while (table_[seat] != 0 && counters_[table_[seat] - 1]->key != key) seat = (seat + 1) % kTable;
  return seat;
}

// From 1, as Lua counts.
std::size_t ChainCall::place_of(const Charge& charge) {
  std::uint16_t& place = table_[seat_of(charge.key)];
  if (place != 0 && same_terms(*counters_[place - 1], charge)) return place;
  const limit::Terms& terms = charge.policy->terms;
  counters_.push_back(&charge);
  keys_.add(charge.key);
  head_.add(limit::name_of(terms.algorithm));
  head_.add(terms.limit);
  head_.add(terms.window_ms);
  head_.add(TermsText(charge).view());
  place = static_cast<std::uint16_t>(counters_.size());
  return place;
}

void ChainCall::add_layer(const Charge& charge, std::int64_t cost) {
  ++layers_;
  const auto place = static_cast<std::int64_t>(place_of(charge));
  requests_.add(charge.enforcement == limit::Enforcement::shadow ? -place : place);
  requests_.add(CostText(charge, cost).view());
}

// ---------------------------------------------------------------------------------------------- answers

ChainAnswers::ChainAnswers(const redis::Reply& reply) : elements_(reply.elements) {
  if (reply.type != redis::Reply::Type::array || elements_.empty()) return;
  if (elements_[0].type != redis::Reply::Type::integer) return;
  now_ms_ = elements_[0].integer;
  next_ = 1;
  whole_ = true;
}

bool ChainAnswers::read(ChargeSet& set) {
  if (!whole_ || finished()) return whole_ = false;
  const redis::Reply& first = elements_[next_];
  if (first.type == redis::Reply::Type::error) {
    ++next_;
    set.store_error = redis::make_error_code(redis::classify(first.text));
    return true;
  }
  for (Charge& charge : set.charges()) {
    if (!read_layer(charge)) return whole_ = false;
  }
  set.store_now_ms = now_ms_;
  return true;
}

bool ChainAnswers::read_layer(Charge& charge) {
  const std::size_t count = charge.lease == nullptr ? kOfLayer : kOfLeased;
  if (elements_.size() - next_ < count) return false;
  const auto fields = elements_.subspan(next_, count);
  next_ += count;
  const auto is_integer = [](const redis::Reply& field) { return field.type == redis::Reply::Type::integer; };
  if (!std::ranges::all_of(fields, is_integer)) return false;
  const auto value = [fields](std::size_t field) { return fields[field].integer; };
  const bool within = (value(0) & 1) != 0;
  if (value(0) < 0 || value(0) > 3 || value(1) < 0 || value(2) < 0) return false;
  if (value(3) < (within ? 0 : limit::kNever)) return false;
  if (charge.lease != nullptr) {
    if (value(4) < 0 || value(5) < limit::kNever) return false;
    charge.lease->granted = value(4);
    charge.lease->next_ms = value(5);
  }
  charge.answered = limit::Answered::store;
  charge.charged = (value(0) & 2) != 0;
  charge.request.now_ms = now_ms_;
  charge.verdict = {.within_limit = within,
                    .limit = charge.policy->terms.limit,
                    .remaining = value(1),
                    .retry_after_ms = within ? 0 : value(3),
                    .reset_ms = value(2),
                    .wait_ms = within ? value(3) : 0};
  return true;
}

}  // namespace weir::store
