// SPDX-License-Identifier: Apache-2.0
#include "redis/cluster_caller.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "redis/resp.hpp"

namespace weir::redis {
namespace {

using boost::asio::use_awaitable;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMostNodes = 1000;
constexpr milliseconds kLook{20};  // how soon a node that came up is noticed
constexpr milliseconds kMapTimeout{500};

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Redirect {
  bool ask;
  Slot slot;
  Address to;
};

// "MOVED 3999 127.0.0.1:6381"; without a host it is that of whoever says so.
std::optional<Redirect> redirect_in(std::string_view message, const Address& from) {
  const std::size_t first = message.find(' ');
  const std::size_t second = message.find(' ', first + 1);
  const std::size_t colon = message.rfind(':');
  if (second == std::string_view::npos || colon == std::string_view::npos || colon < second) return {};
  const auto slot = number_in<Slot>(message.substr(first + 1, second - first - 1));
  const auto port = number_in<std::uint16_t>(message.substr(colon + 1));
  if (!slot || *slot >= kSlots || !port) return {};
  const std::string_view host = message.substr(second + 1, colon - second - 1);
  return Redirect{message.starts_with("ASK"), *slot, {host.empty() ? from.host : std::string(host), *port}};
}

}  // namespace

std::shared_ptr<ClusterCaller> ClusterCaller::start(Executor executor, ClusterOptions options) {
  auto caller = std::make_shared<ClusterCaller>(executor, std::move(options));
  boost::asio::co_spawn(executor, run(caller), boost::asio::detached);
  return caller;
}

ClusterCaller::ClusterCaller(Executor executor, ClusterOptions options)
    : executor_(executor), options_(std::move(options)), timer_(executor), jitter_(std::random_device{}()) {
  options_.node.max_reply_bytes = 4 * 1024 * 1024;  // the map of a large cluster
  slots_.fill(kNoNode);
}

void ClusterCaller::close() {
  closed_ = true;
  timer_.cancel();
  for (const auto& node : nodes_) node->runners.connection().close();
}

std::size_t ClusterCaller::lane_of(Slot slot) const noexcept {
  constexpr std::size_t kNobodys = kLanes - 1;
  return slots_[slot] == kNoNode ? kNobodys : slots_[slot] % kNobodys;
}

bool ClusterCaller::came_up_after(Slot slot, TimePoint moment) const noexcept {
  const std::uint16_t node = slots_[slot];
  if (node == kNoNode) return false;
  const Connection& connection = nodes_[node]->runners.connection();
  return connection.ready_since(moment) || (connection.ready() && nodes_[node]->gained > moment);
}

// ----------------------------------------------------------------------------------------------- calls

boost::asio::awaitable<Result<Reply>> ClusterCaller::call(const Script& script, Slot slot,
                                                          const ScriptArguments& arguments,
                                                          TimePoint deadline) {
  constexpr int kMostSends = 5;
  const auto self = shared_from_this();
  std::uint16_t node = slots_[slot];
  Asking asking = Asking::no;
  for (int sends = 1;; ++sends) {
    if (node == kNoNode) {
      refresh_soon();
      co_return make_error_code(ErrorKind::cluster_down);
    }
    ScriptRunners& runners = nodes_[node]->runners;
    // Only who was just sent here waits for a connection: whose node is dead shall know at once.
    if (sends > 1 && !runners.connection().ready()) co_await runners.connection().wait_ready(deadline);
    Result<Reply> reply = co_await runners.of(script).run(arguments, deadline, asking);
    if (reply || sends == kMostSends || closed_ || steady_clock::now() >= deadline) co_return reply;
    asking = Asking::no;
    if (reply.error() == make_error_code(ErrorKind::ask)) {
      node = take_ask(slot);
      asking = Asking::yes;
    } else if (reply.error() == make_error_code(ErrorKind::moved)) {
      node = slots_[slot];
    } else if (reply.error() == make_error_code(ErrorKind::try_again)) {
      cluster_stats_.tried_again.fetch_add(1, std::memory_order_relaxed);
      node = slots_[slot];
      boost::asio::steady_timer pause(executor_, milliseconds(sends));
      error_code ignored;
      auto token = boost::asio::redirect_error(use_awaitable, ignored);
      co_await pause.async_wait(token);
    } else {
      if (is_outage(reply.error())) refresh_soon();
      co_return reply;
    }
  }
}

void ClusterCaller::distrust(Slot slot) {
  if (slots_[slot] != kNoNode) nodes_[slots_[slot]]->runners.connection().distrust();
}

void ClusterCaller::on_redirect(std::string_view message, const Address& from) {
  const std::optional<Redirect> redirect = redirect_in(message, from);
  if (!redirect || closed_) return;
  const std::uint16_t node = node_at(redirect->to);
  if (node == kNoNode) return;
  if (redirect->ask) {
    cluster_stats_.asked.fetch_add(1, std::memory_order_relaxed);
    std::erase_if(asks_, [&](const Ask& ask) { return ask.slot == redirect->slot; });
    asks_.push_back({redirect->slot, node});
    return;
  }
  cluster_stats_.moved.fetch_add(1, std::memory_order_relaxed);
  give(redirect->slot, node);
  // The others of its slots will say the same. Whoever has them now knows best, once it is connected to; a
  // node that has not heard of it yet would take us back.
  next_node_ = node;
  refresh_soon(options_.refresh_gap);
}

void ClusterCaller::give(Slot slot, std::uint16_t node) {
  const std::uint16_t before = std::exchange(slots_[slot], node);
  const bool first = cluster_stats_.maps.load(std::memory_order_relaxed) == 0;
  if (node != kNoNode && node != before && !first) nodes_[node]->gained = steady_clock::now();
}

// Stays known: other calls of the slot may have been told the same.
std::uint16_t ClusterCaller::take_ask(Slot slot) {
  const auto found = std::ranges::find(asks_, slot, &Ask::slot);
  return found == asks_.end() ? slots_[slot] : found->node;
}

std::uint16_t ClusterCaller::node_at(const Address& address) {
  const auto is_it = [&](const auto& node) { return node->address == address; };
  const auto found = std::ranges::find_if(nodes_, is_it);
  if (found != nodes_.end()) return static_cast<std::uint16_t>(found - nodes_.begin());
  if (nodes_.size() >= kMostNodes) return kNoNode;
  ConnectionOptions options = options_.node;
  options.host = address.host;
  options.port = address.port;
  options.on_redirect = [weak = weak_from_this(), address](std::string_view message) {
    if (const auto self = weak.lock()) self->on_redirect(message, address);
  };
  auto connection = Connection::start(executor_, std::move(options));
  nodes_.push_back(std::make_unique<Node>(Node{address, {std::move(connection), reloads_}, {}}));
  return static_cast<std::uint16_t>(nodes_.size() - 1);
}

// ------------------------------------------------------------------------------------------------- map

boost::asio::awaitable<void> ClusterCaller::run(std::shared_ptr<ClusterCaller> self) {
  for (const Address& seed : self->options_.seeds) self->node_at(seed);
  error_code ignored;
  auto token = boost::asio::redirect_error(use_awaitable, ignored);
  while (!self->closed_) {
    if (steady_clock::now() >= self->next_map_) {
      const bool read = co_await self->read_map();
      if (self->closed_) co_return;
      self->look_if_ready();
      const bool well = read && self->stats_.ready.load(std::memory_order_relaxed);
      self->ill_maps_ = well ? 0 : self->ill_maps_ + 1;
      self->last_map_ = steady_clock::now();
      self->next_map_ = self->last_map_ + self->until_next_map();
    } else {
      self->look_if_ready();
    }
    const TimePoint look = steady_clock::now() + kLook;
    const bool ready = self->stats_.ready.load(std::memory_order_relaxed);
    self->timer_.expires_at(ready ? self->next_map_ : std::min(look, self->next_map_));
    co_await self->timer_.async_wait(token);
  }
}

// Jittered, so that a fleet does not ask in one moment.
milliseconds ClusterCaller::until_next_map() {
  milliseconds longest = options_.refresh_every;
  if (ill_maps_ > 0)
    longest = std::min(options_.refresh_ill, options_.refresh_gap * (1 << std::min(ill_maps_ - 1, 10U)));
  std::uniform_int_distribution<std::int64_t> pick(longest.count() * 3 / 4, longest.count());
  return std::max(options_.refresh_gap, milliseconds(pick(jitter_)));
}

void ClusterCaller::refresh_soon(milliseconds pause) {
  const TimePoint soon = std::max(steady_clock::now() + pause, last_map_ + options_.refresh_gap);
  if (soon >= next_map_ || closed_) return;
  next_map_ = soon;
  timer_.expires_at(soon);  // wakes run(), which looks at next_map_
}

// Asks the nodes in turn, each time from another one on: one that was cut off from the rest answers, too, but
// knows only what was.
boost::asio::awaitable<bool> ClusterCaller::read_map() {
  constexpr std::string_view request = "*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n";
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = *nodes_[next_node_++ % nodes_.size()];
    if (!node.runners.connection().ready()) continue;
    const TimePoint deadline = steady_clock::now() + kMapTimeout;
    const Result<Reply> reply = co_await node.runners.connection().execute(request, deadline, use_awaitable);
    if (closed_) co_return false;
    if (!reply) {
      const bool is_single = reply.error() == make_error_code(ErrorKind::other);
      if (is_single) cluster_stats_.not_a_cluster.store(true, std::memory_order_relaxed);
      continue;
    }
    const bool taken = take_map(*reply, node.address);
    if (taken) co_return true;
  }
  co_return false;
}

bool ClusterCaller::take_map(const Reply& reply, const Address& from) {
  if (reply.type != Reply::Type::array || reply.elements.empty()) return false;
  std::array<std::uint16_t, kSlots> fresh;
  fresh.fill(kNoNode);
  for (const Reply& range : reply.elements) {
    if (!take_range(range, from, fresh)) return false;
  }
  for (std::size_t slot = 0; slot < kSlots; ++slot) give(static_cast<Slot>(slot), fresh[slot]);
  asks_.clear();
  cluster_stats_.maps.fetch_add(1, std::memory_order_relaxed);
  cluster_stats_.not_a_cluster.store(false, std::memory_order_relaxed);
  return true;
}

// [first, last, [host, port, ...], replicas ...]
bool ClusterCaller::take_range(const Reply& range, const Address& from,
                               std::array<std::uint16_t, kSlots>& into) {
  constexpr auto kInteger = Reply::Type::integer;
  const auto& parts = range.elements;
  if (parts.size() < 3 || parts[0].type != kInteger || parts[1].type != kInteger) return false;
  const auto& primary = parts[2].elements;
  if (primary.size() < 2 || primary[1].type != kInteger) return false;
  const std::int64_t first = parts[0].integer;
  const std::int64_t last = parts[1].integer;
  const std::int64_t port = primary[1].integer;
  if (first < 0 || last < first || last >= static_cast<std::int64_t>(kSlots)) return false;
  if (port < 1 || port > 65535) return false;
  const std::string& host = primary[0].text;
  const bool unnamed = host.empty() || host == "?";
  const std::uint16_t node = node_at({unnamed ? from.host : host, static_cast<std::uint16_t>(port)});
  std::fill(into.begin() + first, into.begin() + last + 1, node);
  return true;
}

// Ready: each slot has a node, and each of those nodes a connection.
void ClusterCaller::look_if_ready() {
  std::optional<std::uint16_t> seen;
  const bool ready = std::ranges::all_of(slots_, [&](std::uint16_t node) {
    if (node == seen) return true;
    seen = node;
    return node != kNoNode && nodes_[node]->runners.connection().ready();
  });
  stats_.ready.store(ready, std::memory_order_relaxed);
}

}  // namespace weir::redis
