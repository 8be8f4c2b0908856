// SPDX-License-Identifier: Apache-2.0
#include "upstream/message_heads.hpp"

#include <charconv>
#include <optional>

#include "http/chunk_encoder.hpp"
#include "http/date.hpp"
#include "http/field_filter.hpp"
#include "http/response_writer.hpp"
#include "upstream/upgrade.hpp"

namespace weir::upstream {
namespace {

// Nearly every field came as "Name: value", its parts side by side, and goes on so: one copy instead of
// three.
void append_field(std::string& out, const http::Field& field) {
  const char* const colon = field.name.data() + field.name.size();
  if (field.value.data() == colon + 2 && colon[0] == ':' && colon[1] == ' ') {
    out.append(field.name.data(), field.name.size() + 2 + field.value.size());
  } else {
    out += field.name;
    out += ": ";
    out += field.value;
  }
  out += "\r\n";
}

bool is_listed(const http::FieldNames* names, const http::Field& field) noexcept {
  return names != nullptr && names->contains(field.key());
}

// Fields that append_request_head() writes itself, and Expect, which the gateway answers.
bool is_rewritten(const http::Field& field) noexcept {
  return field.is("host") || field.is("content-length") || field.is("expect");
}

// How often an OPTIONS request may still be forwarded; nothing if it does not say, or not in a number.
std::optional<std::uint32_t> max_forwards(const http::RequestHead& head) noexcept {
  if (head.method != http::Method::options) return {};
  const http::Field* field = head.find("max-forwards");
  if (field == nullptr) return {};
  std::uint32_t count = 0;
  const char* end = field->value.data() + field->value.size();
  const auto parsed = std::from_chars(field->value.data(), end, count);
  if (parsed.ec != std::errc() || parsed.ptr != end) return {};
  return count;
}

}  // namespace

bool ends_here(const http::RequestHead& head) noexcept {
  return max_forwards(head) == std::uint32_t{0};
}

void append_request_head(std::string& out, const http::RequestHead& head, const ForwardPlan& plan,
                         const Destination& destination) {
  out += head.method_text;
  out += ' ';
  out += plan.request_target;
  out += " HTTP/1.1\r\nHost: ";
  out += head.authority.empty() ? destination.fallback_host : head.authority;
  out += "\r\n";
  const http::FieldFilter filter(head.fields);
  const auto forwards = max_forwards(head);
  for (const http::Field& field : head.fields) {
    const bool stays = is_rewritten(field) || filter.ends_here(field) ||
                       is_listed(plan.remove_request_fields, field) || (forwards && field.is("max-forwards"));
    if (!stays) append_field(out, field);
  }
  if (head.framing.kind == http::BodyKind::chunked) {
    out += "Transfer-Encoding: chunked\r\n";
  } else if (head.framing.kind == http::BodyKind::length) {
    out += "Content-Length: ";
    http::append_number(out, head.framing.length);
    out += "\r\n";
  }
  if (forwards && *forwards > 0) {
    out += "Max-Forwards: ";
    http::append_number(out, *forwards - 1);
    out += "\r\n";
  }
  if (!destination.upgrade.empty()) append_upgrade(out, destination.upgrade);
  out += "Via: 1.1 weir\r\n";
  out += plan.request_fields;
  out += "\r\n";
}

Cost append_response_fields(std::string& out, const http::ResponseHead& head, const ForwardPlan& plan,
                            std::int64_t wall_ms) {
  Cost cost;
  bool has_date = false;
  const http::FieldFilter filter(head.fields);
  const bool has_cost = !plan.cost_response_field.empty();
  const http::FieldName cost_field(plan.cost_response_field);
  for (const http::Field& field : head.fields) {
    if (has_cost && field.is(cost_field)) {
      const char* end = field.value.data() + field.value.size();
      const auto parsed = std::from_chars(field.value.data(), end, cost.value);
      cost.present = parsed.ec == std::errc() && parsed.ptr == end;
      continue;
    }
    if (field.is("content-length") || filter.ends_here(field) ||
        is_listed(plan.remove_response_fields, field))
      continue;
    has_date = has_date || field.is("date");
    append_field(out, field);
  }
  if (!has_date) out += http::date_line(wall_ms);
  out += plan.response_fields;
  return cost;
}

void append_interim_head(std::string& out, const http::ResponseHead& head) {
  out += "HTTP/1.1 ";
  http::append_number(out, static_cast<std::uint64_t>(head.status));
  out += ' ';
  out += http::reason_phrase(head.status);
  out += "\r\n";
  const http::FieldFilter filter(head.fields);
  for (const http::Field& field : head.fields) {
    if (!field.is("content-length") && !filter.ends_here(field)) append_field(out, field);
  }
  out += "\r\n";
}

}  // namespace weir::upstream
