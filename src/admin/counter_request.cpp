// SPDX-License-Identifier: Apache-2.0
#include "admin/counter_request.hpp"

#include <boost/json.hpp>

#include "admin/form_query.hpp"

namespace weir::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxKeys = 24;

std::string add_key(CounterRequest& request, std::string name, std::optional<std::string> value) {
  if (name.empty()) return "'key' must be 'dimension:value', or 'dimension' for requests without a value";
  if (request.key.size() == kMaxKeys) return "too many keys";
  request.key.emplace_back(std::move(name), std::move(value));
  return "";
}

std::string set_lane(CounterRequest& request, std::string_view name) {
  if (name != "ordinary" && name != "exempt") return "'lane' must be ordinary or exempt";
  request.lane = name == "exempt" ? Lane::exempt : Lane::ordinary;
  return "";
}

std::string apply_parameter(CounterRequest& request, std::string_view name, std::string value) {
  if (name == "lane") return set_lane(request, value);
  if (name == "key") {
    const auto colon = value.find(':');
    if (colon == value.npos) return add_key(request, std::move(value), std::nullopt);
    return add_key(request, value.substr(0, colon), value.substr(colon + 1));
  }
  if (name != "layer") return "unknown parameter; allowed are layer, key and lane";
  request.layer = std::move(value);
  return "";
}

std::string set_keys(CounterRequest& request, const json::value& keys) {
  if (!keys.is_object()) return "'key' must be an object of dimension and value";
  for (const auto& [name, value] : keys.get_object()) {
    if (!value.is_string() && !value.is_null()) return "a key's value must be a text, or null";
    std::optional<std::string> text;
    if (value.is_string()) text = std::string(value.get_string());
    if (std::string why = add_key(request, std::string(name), std::move(text)); !why.empty()) return why;
  }
  return "";
}

std::string apply_member(CounterRequest& request, std::string_view name, const json::value& value) {
  if (name == "key") return set_keys(request, value);
  if (name != "layer" && name != "lane" && name != "confirm") {
    return "unknown member; allowed are layer, key, lane and confirm";
  }
  if (!value.is_string()) return "'" + std::string(name) + "' must be a text";
  const std::string_view text = value.get_string();
  if (name == "lane") return set_lane(request, text);
  (name == "layer" ? request.layer : request.confirm) = text;
  return "";
}

}  // namespace

std::optional<CounterRequest> parse_counter_query(std::string_view query, std::string& why) {
  CounterRequest request;
  why = each_parameter(query, [&request](std::string_view name, std::string value) {
    return apply_parameter(request, name, std::move(value));
  });
  if (!why.empty()) return std::nullopt;
  return request;
}

std::optional<CounterRequest> parse_counter_body(std::string_view text, std::string& why) {
  boost::system::error_code bad;
  const json::value document = json::parse(text, bad);
  if (bad || !document.is_object()) {
    why = "the body is no JSON object";
    return std::nullopt;
  }
  CounterRequest request;
  for (const auto& [name, value] : document.get_object()) {
    why = apply_member(request, name, value);
    if (!why.empty()) return std::nullopt;
  }
  return request;
}

}  // namespace weir::admin
