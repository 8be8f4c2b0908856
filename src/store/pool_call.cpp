// SPDX-License-Identifier: Apache-2.0
#include "store/pool_call.hpp"

#include <algorithm>

namespace weir::store {

using limit::Charge;
using limit::Lease;

std::string pool_key(std::string_view counter) {
  std::string key(counter);
  key += ":pool";
  return key;
}

// -------------------------------------------------------------------------------------------- questions

void PoolCall::start(std::string_view operation, std::int64_t server) {
  operation_ = operation;
  count_ = 0;
  keys_.clear();
  asked_.clear();
  asked_.add(server);
}

void PoolCall::add_key(std::string_view counter) {
  ++count_;
  keys_.add(std::string_view(pool_key(counter)));
}

void PoolCall::add_layer(const Charge& charge, Reports reports) {
  add_key(charge.key);
  asked_.add(charge.enforcement == limit::Enforcement::shadow ? 1 : 0);
  asked_.add(charge.request.cost);
  if (charge.lease == nullptr) return asked_.add_false();
  const Lease& lease = *charge.lease;
  const bool news = reports == Reports::yes;
  asked_.start_array(4 + 2 * (lease.back.size() + lease.spent.size()));
  for (const std::int64_t value : {lease.more, lease.least, lease.permille, news ? lease.demand : 0})
    asked_.add(value);
  for (const auto* moments : {&lease.back, &lease.spent}) {
    for (const Lease::Spent& moment : *moments) {
      asked_.add(news ? moment.count : 0);
      asked_.add(moment.at_ms);
    }
  }
}

const redis::ScriptArguments& PoolCall::write() {
  all_.clear();
  all_.start(count_);
  all_.add(keys_);
  all_.add(std::string_view(operation_));
  all_.add(asked_.view());
  return all_;
}

// ---------------------------------------------------------------------------------------------- answers

PoolAnswers::PoolAnswers(const redis::Reply& reply, std::int64_t ticket)
    : elements_(reply.elements), ticket_(ticket) {
  const auto is_integer = [](const redis::Reply& field) { return field.type == redis::Reply::Type::integer; };
  if (reply.type != redis::Reply::Type::array || elements_.empty()) return;
  if (!std::ranges::all_of(elements_, is_integer)) return;
  now_ms_ = elements_[0].integer;
  next_ = 1;
  whole_ = true;
}

bool PoolAnswers::read(PoolAnswer& answer) {
  if (!whole_ || elements_.size() - next_ < kFields) return whole_ = false;
  const auto fields = elements_.subspan(next_, kFields);
  const auto value = [fields](std::size_t field) { return fields[field].integer; };
  const auto amount = [](const redis::Reply& field) { return field.integer >= 0; };
  next_ += kFields;
  const bool known = value(0) >= 0 && value(0) <= 3 && value(10) <= 2;
  if (!known || !std::ranges::all_of(fields.subspan(2), amount)) return whole_ = false;
  answer = {.status = static_cast<PoolAnswer::Status>(value(0)),
            .now_ms = now_ms_,
            .remaining = value(1),
            .reset_ms = value(2),
            .wait_ms = value(3),
            .granted = value(4),
            .at_ms = value(5),
            .life_ms = value(6),
            .live = value(7),
            .live_ms = value(8),
            .rest = value(9),
            .order = {},
            .fetching = value(10) == 2};
  if (value(10) != 1) return true;
  if (elements_.size() - next_ < kOfOrder) return whole_ = false;
  read_order(answer.order.emplace());
  return true;
}

void PoolAnswers::read_order(PoolOrder& order) {
  const auto value = [this] { return elements_[next_++].integer; };
  order.ticket = ticket_;
  order.asked_ms = now_ms_;
  order.rate = static_cast<double>(value()) / 1000;
  order.fleet_rate = static_cast<double>(value()) / 1000;
  order.left_ms = value();
  order.age_ms = value();
  order.tag_ms = value();
  order.remaining = value();
  for (auto* moments : {&order.back, &order.spent}) {
    for (Lease::Spent& moment : *moments) {
      moment.count = value();
      moment.at_ms = value();
    }
  }
  order.seen.used = value();
  order.seen.ends_ms = value();
  order.seen.at_ms = value();
}

}  // namespace weir::store
