// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <boost/json.hpp>
#include <chrono>
#include <cmath>

#include "app/simulate/log_reader.hpp"

namespace weir::app {
namespace {

namespace json = boost::json;

constexpr std::int64_t kMost = 1'000'000;

// The fields of one object; what has another type than wanted counts as absent.
class Fields {
 public:
  explicit Fields(const json::object& object) : object_(object) {}

  std::string_view text(std::string_view name) const {
    const json::value* const value = object_.if_contains(name);
    return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                  : std::string_view();
  }
  std::int64_t number(std::string_view name, std::int64_t fallback) const {
    const json::value* const value = object_.if_contains(name);
    return value != nullptr && value->is_int64() ? value->get_int64() : fallback;
  }
  double real(std::string_view name) const {
    const json::value* const value = object_.if_contains(name);
    if (value == nullptr) return 0;
    if (value->is_double()) return value->get_double();
    return value->is_int64() ? static_cast<double>(value->get_int64()) : 0;
  }
  bool flag(std::string_view name) const {
    const json::value* const value = object_.if_contains(name);
    return value != nullptr && value->is_bool() && value->get_bool();
  }

 private:
  const json::object& object_;
};

// "2026-11-30T12:34:56.789Z", the one form that access lines have.
bool read_time(std::string_view text, std::int64_t& out) {
  constexpr std::string_view form = "0000-00-00T00:00:00.000Z";
  if (text.size() != form.size()) return false;
  for (std::size_t n = 0; n < form.size(); ++n) {
    const bool digit = text[n] >= '0' && text[n] <= '9';
    if (form[n] == '0' ? !digit : text[n] != form[n]) return false;
  }
  const auto number = [text](std::size_t from, std::size_t size) {
    int value = 0;
    for (const char c : text.substr(from, size)) value = value * 10 + (c - '0');
    return value;
  };
  const std::chrono::year_month_day day{std::chrono::year(number(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  if (!day.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 60) return false;
  const auto since = std::chrono::sys_days(day).time_since_epoch() + std::chrono::hours(number(11, 2)) +
                     std::chrono::minutes(number(14, 2)) + std::chrono::seconds(number(17, 2));
  out = std::chrono::duration_cast<std::chrono::milliseconds>(since).count() + number(20, 3);
  return true;
}

void read_identity(const json::object& object, LoggedRequest& out) {
  out.identity.clear();
  const json::value* const members = object.if_contains("identity");
  if (members == nullptr || !members->is_object()) return;
  for (const auto& [name, value] : members->get_object()) {
    if (value.is_string()) out.identity.emplace_back(name, value.get_string());
  }
}

LineKind unreadable(std::string& why, std::string_view text) {
  why = text;
  return LineKind::unreadable;
}

bool within(std::int64_t value, std::int64_t least) {
  return value >= least && value <= kMost;
}

LineKind read_object(const json::object& object, LoggedRequest& out, std::string& why) {
  const Fields line(object);
  const std::string_view outcome = line.text("outcome");
  if (outcome.empty()) {
    const bool denial = object.contains("hit_layers") && object.contains("final_hit_layer");
    return denial ? LineKind::denial : unreadable(why, "not a line of the access log: it has no outcome");
  }
  if (outcome == "not_judged") return LineKind::not_judged;
  if (!read_time(line.text("time"), out.time_ms)) return unreadable(why, "its time is not a time");
  out.method = line.text("method");
  out.path = line.text("path");
  if (out.method.empty() || out.path.empty()) return unreadable(why, "it has no method or no path");
  out.cost = line.number("cost", 1);
  out.true_cost = line.number("true_cost", 0);
  const std::int64_t weight = line.number("weight", 1);
  // Costs may exceed what a header may state, where an API's own cost is larger.
  if (!within(weight, 1) || out.cost < 1 || out.cost > std::int64_t{1} << 53) {
    return unreadable(why, "its weight or cost is out of range");
  }
  out.weight = static_cast<std::uint64_t>(weight);
  const double duration = line.real("duration_ms");
  out.duration_ms = duration > 0 && duration < 1e12 ? static_cast<std::int64_t>(std::ceil(duration)) : 0;
  out.request_id = line.text("request_id");
  out.client = line.text("client");
  out.caller = line.text("caller_id");
  out.user = line.text("user_id");
  out.final_hit_layer = line.text("final_hit_layer");
  out.bytes_out = static_cast<std::uint64_t>(std::max<std::int64_t>(0, line.number("bytes_out", 0)));
  out.upstream_status = static_cast<int>(line.number("upstream_status", 0));
  out.exempt = line.flag("exempt");
  read_identity(object, out);
  return LineKind::request;
}

}  // namespace

LineKind read_line(std::string_view line, LoggedRequest& out, std::string& why) {
  std::array<unsigned char, 16 * 1024> memory;
  json::monotonic_resource resource(memory.data(), memory.size());
  json::error_code failed;
  const json::value value = json::parse({line.data(), line.size()}, failed, &resource);
  if (failed) return unreadable(why, "not JSON: " + failed.message());
  if (!value.is_object()) return unreadable(why, "not a JSON object");
  return read_object(value.get_object(), out, why);
}

}  // namespace weir::app
