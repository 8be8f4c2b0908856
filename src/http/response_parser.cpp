// SPDX-License-Identifier: Apache-2.0
#include "http/response_parser.hpp"

#include "http/characters.hpp"
#include "http/field_filter.hpp"
#include "http/framing.hpp"
#include "http/head_lines.hpp"

namespace weir::http {
namespace {

constexpr std::size_t kStatusLineBytes = 8 * 1024;

// False as soon as the bytes cannot become a status line.
bool may_be_a_status_line(std::string_view line) noexcept {
  constexpr std::string_view kStart = "HTTP/1.";
  return line.substr(0, kStart.size()) == kStart.substr(0, line.size());
}

bool has_no_body(int status, Method request_method) noexcept {
  return request_method == Method::head || status < 200 || status == 204 || status == 304;
}

}  // namespace

ResponseParser::State ResponseParser::parse(std::string_view bytes, Method request_method,
                                            ResponseHead& head) {
  const HeadScanner::State found = scanner_.scan(bytes, {kStatusLineBytes, kHeaderBytes, kHeaderCount});
  const bool possible = scanner_.begin() == 0 && may_be_a_status_line(bytes);
  if (possible && found == HeadScanner::State::incomplete) return State::incomplete;
  if (!possible || found != HeadScanner::State::complete) return State::refused;

  const std::string_view whole = bytes.substr(0, scanner_.end());
  const std::size_t first_line = whole.find('\r');
  const auto line = read_status_line(whole.substr(0, first_line));
  if (!line || !read_field_lines(whole.substr(first_line + 2), head.fields)) return State::refused;
  head.status = line->status;
  head.reason = line->reason;
  head.version_minor = line->version_minor;
  const auto framing = judge_framing(head.fields, head.version_minor, Duplicates::accept_equal);
  if (!framing || FieldFilter::nominations_exceed_limit(head.fields)) return State::refused;
  head.framing = *framing;
  head.keep_alive = judge_keep_alive(head.fields, head.version_minor);
  head.bodiless = has_no_body(head.status, request_method);
  if (head.bodiless) {
    if (head.framing.kind == BodyKind::chunked) head.framing = {};
  } else if (head.framing.kind == BodyKind::none) {
    head.framing.kind = BodyKind::until_close;
    head.keep_alive = false;
  }
  return State::complete;
}

}  // namespace weir::http
