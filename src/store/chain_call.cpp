// SPDX-License-Identifier: Apache-2.0
#include "store/chain_call.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::Charge;
using limit::ChargeSet;

// What lua/chain.lua gets of a policy: its algorithm, limit, window, and what only this algorithm needs; see
// `terms` in lua/algorithms/*.lua.
void pack_policy(Packed& out, const Charge& charge) {
  const limit::Terms& terms = charge.policy->terms;
  const auto start = [&out, &terms](std::size_t more) {
    out.start_array(3 + more);
    out.add(limit::name_of(terms.algorithm));
    out.add(terms.limit);
    out.add(terms.window_ms);
  };
  switch (terms.algorithm) {
    case AlgorithmKind::fixed_window:
      start(terms.calendar ? charge.request.bounds.at.size() : 0);
      if (!terms.calendar) break;
      for (const std::int64_t bound : charge.request.bounds.at) out.add(bound);
      break;
    case AlgorithmKind::sliding_counter:
    case AlgorithmKind::sliding_log:
    case AlgorithmKind::concurrency:
      start(0);
      break;
    case AlgorithmKind::sliding_window:
      start(1);
      out.add(terms.cells);
      break;
    case AlgorithmKind::token_bucket:
    case AlgorithmKind::gcra:
      start(1);
      out.add(terms.burst);
      break;
    case AlgorithmKind::leaky_bucket:
      start(2);
      out.add(terms.burst);
      out.add(terms.max_wait_ms);
      break;
  }
}

void pack_lease(Packed& out, const limit::Lease& lease) {
  const bool saw = lease.seen.ends_ms != 0;
  out.start_array(4 + 2 * (lease.back.size() + lease.spent.size()) + (saw ? 3 : 0));
  for (const std::int64_t value : {lease.more, lease.least, lease.permille, lease.life_ms}) out.add(value);
  for (const auto* moments : {&lease.back, &lease.spent}) {
    for (const limit::Lease::Spent& moment : *moments) {
      out.add(moment.count);
      out.add(moment.at_ms);
    }
  }
  if (!saw) return;
  for (const std::int64_t value : {lease.seen.used, lease.seen.ends_ms, lease.seen.at_ms}) out.add(value);
}

bool same_policy(const Charge& one, const Charge& other) {
  if (one.policy != other.policy && one.policy->terms != other.policy->terms) return false;
  return !one.policy->terms.calendar || one.request.bounds.at == other.request.bounds.at;
}

// Whether both mean one counter that is judged in one way.
bool same_terms(const Charge& one, const Charge& other) {
  return same_policy(one, other) && one.request.offset_ms == other.request.offset_ms;
}

bool concerns(const Charge& charge, bool slots) {
  return charge.charged && charge.answered == limit::Answered::store && charge.is_slot() == slots;
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
  policies_.clear();
  table_.fill(0);
  for (redis::ScriptArguments* part : {&keys_, &head_}) part->clear();
  for (Packed* part : {&packed_policies_, &packed_counters_, &requests_}) part->clear();
  head_.add(operation);
}

bool ChainCall::add(const ChargeSet& set) {
  if (layers_ > 0 && !fits(set)) return false;
  const auto says_more = [](const Charge& charge) { return charge.lease != nullptr || charge.is_slot(); };
  const Says says = std::ranges::any_of(set.charges(), says_more) ? Says::more : Says::cost;
  start_request(set.size, says);
  for (const Charge& charge : set.charges()) add_layer(charge, charge.request.cost, says);
  return true;
}

bool ChainCall::add_notice(const ChargeSet& set, std::int64_t delta) {
  const auto wanted = [this](const Charge& charge) { return concerns(charge, !settles_); };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(set.charges(), wanted));
  if (count == 0) return false;
  const Says says = settles_ ? Says::cost : Says::more;
  start_request(count, says);
  for (const Charge& charge : set.charges()) {
    if (wanted(charge)) add_layer(charge, settles_ ? delta : charge.request.cost, says);
  }
  return true;
}

void ChainCall::write(redis::ScriptArguments& out) const {
  out.clear();
  out.start(counters_.size());
  for (const redis::ScriptArguments* part : {&keys_, &head_}) out.add(*part);
  for (const Packed* part : {&packed_policies_, &packed_counters_, &requests_}) out.add(part->view());
}

bool ChainCall::fits(const ChargeSet& set) const {
  const std::size_t bytes =
      keys_.tail.size() + packed_policies_.size() + packed_counters_.size() + requests_.size();
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
  counters_.push_back(&charge);
  keys_.add(charge.key);
  packed_counters_.add(static_cast<std::int64_t>(place_of_policy(charge)));
  packed_counters_.add(charge.request.offset_ms);
  place = static_cast<std::uint16_t>(counters_.size());
  return place;
}

// One that is there twice does no harm, so that the search can be short.
std::size_t ChainCall::place_of_policy(const Charge& charge) {
  const std::size_t oldest = policies_.size() > kSearched ? policies_.size() - kSearched : 0;
  for (std::size_t place = policies_.size(); place > oldest; --place) {
    if (same_policy(*policies_[place - 1], charge)) return place;
  }
  policies_.push_back(&charge);
  pack_policy(packed_policies_, charge);
  return policies_.size();
}

void ChainCall::start_request(std::size_t layers, Says says) {
  const auto count = static_cast<std::int64_t>(layers);
  requests_.add(says == Says::more ? -count : count);
}

void ChainCall::add_layer(const Charge& charge, std::int64_t cost, Says says) {
  ++layers_;
  const auto place = static_cast<std::int64_t>(place_of(charge));
  requests_.add(charge.enforcement == limit::Enforcement::shadow ? -place : place);
  requests_.add(cost);
  if (says == Says::cost) return;
  if (charge.is_slot()) {
    requests_.add(static_cast<std::int64_t>(charge.request.owner));
  } else if (charge.lease != nullptr) {
    pack_lease(requests_, *charge.lease);
  } else {
    requests_.add_false();
  }
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
  const std::int64_t passes = value(0);
  const std::int64_t wait_ms = passes >> 2;
  const bool within = (passes & 1) != 0;
  if (wait_ms < (within ? 0 : limit::kNever) || value(1) < 0 || value(2) < 0) return false;
  if (charge.lease != nullptr) {
    if (value(3) < 0 || value(4) < limit::kNever) return false;
    charge.lease->granted = value(3);
    charge.lease->next_ms = value(4);
  }
  charge.answered = limit::Answered::store;
  charge.charged = (passes & 2) != 0;
  charge.request.now_ms = now_ms_;
  charge.verdict = {.within_limit = within,
                    .limit = charge.policy->terms.limit,
                    .remaining = value(1),
                    .retry_after_ms = within ? 0 : wait_ms,
                    .reset_ms = value(2),
                    .wait_ms = within ? wait_ms : 0};
  return true;
}

}  // namespace weir::store
