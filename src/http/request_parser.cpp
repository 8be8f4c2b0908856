// SPDX-License-Identifier: Apache-2.0
#include "http/request_parser.hpp"

#include <algorithm>

#include "http/characters.hpp"
#include "http/field_filter.hpp"
#include "http/framing.hpp"
#include "http/head_lines.hpp"

namespace weir::http {
namespace {

constexpr std::size_t kMethodAndVersionBytes = 64;  // what a first line may hold beside its target

// False as soon as the bytes cannot become a request line: TLS hellos, PROXY headers, garbage.
bool may_be_a_method(std::string_view line) noexcept {
  const std::string_view method = line.substr(0, std::min(line.find(' '), kMethodAndVersionBytes));
  return method.empty() ? line.empty() : is_token(method);
}

// Names that some servers read as their hyphenated twins (CGI): dropped, so that nobody is fooled.
bool is_underscore_twin(std::string_view name) noexcept {
  if (name.find('_') == std::string_view::npos) return false;
  constexpr std::string_view kTwins[] = {"content_length",    "transfer_encoding", "x_forwarded_for",
                                         "x_forwarded_proto", "x_forwarded_host",  "x_forwarded_port",
                                         "x_real_ip",         "proxy_connection",  "x_request_id"};
  return std::any_of(std::begin(kTwins), std::end(kTwins), [name](std::string_view twin) {
    if (twin.size() != name.size()) return false;
    for (std::size_t n = 0; n < name.size(); ++n) {
      const char c = lower(name[n]);
      if ((c == '-' ? '_' : c) != twin[n]) return false;
    }
    return true;
  });
}

constexpr bool is_reg_name_char(char c) noexcept {
  return is_alpha(c) || is_digit(c) || std::string_view("-._~%!$&'()*+;=").find(c) != std::string_view::npos;
}
constexpr std::array<bool, 256> kRegName = table_of(is_reg_name_char);

bool is_reg_name(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return kRegName[static_cast<std::uint8_t>(c)]; });
}

bool is_port(std::string_view text) noexcept {
  return text.size() <= 5 && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace

Method method_of(std::string_view text) noexcept {
  if (text == "GET") return Method::get;
  if (text == "HEAD") return Method::head;
  if (text == "POST") return Method::post;
  if (text == "PUT") return Method::put;
  if (text == "DELETE") return Method::delete_;
  if (text == "OPTIONS") return Method::options;
  if (text == "PATCH") return Method::patch;
  return Method::other;
}

bool is_valid_host(std::string_view host) noexcept {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos || end == 1) return false;
    const std::string_view literal = host.substr(1, end - 1);
    const auto is_literal_char = [](char c) { return hex_value(c) >= 0 || c == ':' || c == '.'; };
    if (!std::all_of(literal.begin(), literal.end(), is_literal_char)) return false;
    const std::string_view rest = host.substr(end + 1);
    return rest.empty() || (rest.front() == ':' && is_port(rest.substr(1)));
  }
  const std::size_t colon = host.find(':');
  const std::string_view name = host.substr(0, colon);
  if (colon != std::string_view::npos && (name.empty() || !is_port(host.substr(colon + 1)))) return false;
  return is_reg_name(name);
}

void RequestParser::reset() noexcept {
  scanner_.reset();
  head_end_ = 0;
  refusal_ = {};
}

RequestParser::State RequestParser::refuse(int status, std::string_view reason) noexcept {
  refusal_ = {status, reason};
  return State::refused;
}

RequestParser::State RequestParser::parse(std::string_view bytes, const ServerOptions& options,
                                          RequestHead& head) {
  // Nearly every head comes whole and well formed: then one look at each byte is enough. What is to be said
  // of others is found out with care, from their first byte on.
  if (!scanner_.began()) {
    head_end_ = read_lines(bytes, options, head);
    if (head_end_ > 0 && head_end_ <= options.header_bytes) return judge(head, options);
  }
  const HeadScanner::Limits limits{options.target_bytes + kMethodAndVersionBytes, options.header_bytes,
                                   options.header_count};
  const HeadScanner::State found = scanner_.scan(bytes, limits);
  const std::string_view text = bytes.substr(scanner_.begin());
  if (found != HeadScanner::State::complete) return not_complete(found, text);
  head_end_ = scanner_.end();
  refusal_ = {400, "malformed_head"};  // unless the first line says otherwise
  const std::size_t read = read_lines(text.substr(0, head_end_ - scanner_.begin()), options, head);
  return read > 0 ? judge(head, options) : State::refused;
}

// The bytes that the head takes, 0 if it is not there as a whole, or not well formed.
std::size_t RequestParser::read_lines(std::string_view bytes, const ServerOptions& options,
                                      RequestHead& head) {
  const std::size_t end = bytes.find('\r');
  const bool too_long = end == bytes.npos || end > options.target_bytes + kMethodAndVersionBytes;
  if (too_long || end + 1 == bytes.size() || bytes[end + 1] != '\n') return 0;
  const std::size_t first_line = end + 2;
  if (!read_first_line(bytes.substr(0, end), options, head)) return 0;
  const std::size_t rest = read_field_lines(bytes.substr(first_line), options.header_count, head.fields);
  if (rest == 0) return 0;
  if (bytes.substr(0, first_line + rest).find('_') != bytes.npos) {
    head.fields.erase_if([](const Field& field) { return is_underscore_twin(field.name); });
  }
  return first_line + rest;
}

RequestParser::State RequestParser::judge(RequestHead& head, const ServerOptions& options) noexcept {
  const bool good =
      check_target(head) && check_host(head) && check_framing(head, options) && check_expectation(head);
  return good ? State::complete : State::refused;
}

RequestParser::State RequestParser::not_complete(HeadScanner::State found, std::string_view text) noexcept {
  if (!may_be_a_method(text.substr(0, kMethodAndVersionBytes)) && !text.starts_with('\r')) {
    return refuse(400, "malformed_request_line");
  }
  switch (found) {
    case HeadScanner::State::malformed:
      return refuse(400, "malformed_head");
    case HeadScanner::State::first_line_too_long:
      return refuse(414, "target_too_long");
    case HeadScanner::State::too_long:
      return refuse(431, "head_too_long");
    case HeadScanner::State::too_many_fields:
      return refuse(431, "too_many_fields");
    case HeadScanner::State::incomplete:
    case HeadScanner::State::complete:
      break;
  }
  return State::incomplete;
}

// One space between method, target and version, nothing else (RFC 9112 3).
bool RequestParser::read_first_line(std::string_view line, const ServerOptions& options,
                                    RequestHead& head) noexcept {
  constexpr std::size_t kVersionBytes = 8;
  const std::size_t first = line.find(' ');
  const std::size_t last = line.find(' ', first == line.npos ? line.size() : first + 1);
  if (last == line.npos || line.size() - last != 1 + kVersionBytes) {
    refuse(400, "malformed_request_line");
    return false;
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  const bool has_form =
      version.starts_with("HTTP/") && is_digit(version[5]) && version[6] == '.' && is_digit(version[7]);
  if (!has_form || !is_token(method) || target.empty() || has_control(target) ||
      target.find('#') != target.npos) {
    refuse(400, "malformed_request_line");
  } else if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    refuse(505, "version_not_supported");
  } else if (method == "CONNECT" || method == "TRACE") {
    refuse(405, "method_not_allowed");
  } else if (target.size() > options.target_bytes) {
    refuse(414, "target_too_long");
  } else {
    head.method_text = method;
    head.method = method_of(method);
    head.target = target;
    head.version_minor = version[7] - '0';
    return true;
  }
  return false;
}

bool RequestParser::check_target(RequestHead& head) noexcept {
  std::string_view rest = head.target;
  head.authority = {};
  if (rest == "*") {
    head.path = rest;
    head.query = {};
    if (head.method == Method::options) return true;
    refuse(400, "bad_target");
    return false;
  }
  if (!rest.starts_with('/')) {
    const std::size_t slashes = rest.find("://");
    const std::string_view scheme = rest.substr(0, slashes);
    const bool is_http =
        slashes != std::string_view::npos && (iequals(scheme, "http") || iequals(scheme, "https"));
    rest.remove_prefix(is_http ? slashes + 3 : 0);
    head.authority = rest.substr(0, rest.find_first_of("/?"));
    rest.remove_prefix(head.authority.size());
    if (!is_http || head.authority.empty() || !is_valid_host(head.authority)) {
      refuse(400, "bad_target");
      return false;
    }
  }
  const std::size_t mark = rest.find('?');
  head.path = mark == 0 || rest.empty() ? std::string_view("/") : rest.substr(0, mark);
  head.query = mark == std::string_view::npos ? std::string_view{} : rest.substr(mark + 1);
  return true;
}

bool RequestParser::check_host(RequestHead& head) noexcept {
  int hosts = 0;
  std::string_view host;
  head.fields.each("host", [&](const Field& field) {
    ++hosts;
    host = field.value;
  });
  if (hosts > 1 || (hosts == 0 && head.version_minor >= 1) || !is_valid_host(host)) {
    refuse(400, "bad_host");
    return false;
  }
  if (head.authority.empty()) head.authority = host;  // an absolute target overrules Host (RFC 9112 3.2.2)
  return true;
}

bool RequestParser::check_framing(RequestHead& head, const ServerOptions& options) noexcept {
  const auto framing = judge_framing(head.fields, head.version_minor, Duplicates::refuse);
  if (!framing || FieldFilter::nominations_exceed_limit(head.fields)) {
    refuse(400, framing ? "too_many_connection_options" : "bad_framing");
    return false;
  }
  if (framing->kind == BodyKind::length && framing->length > options.body_bytes) {
    refuse(413, "body_too_large");
    return false;
  }
  head.framing = *framing;
  head.keep_alive = judge_keep_alive(head.fields, head.version_minor);
  return true;
}

bool RequestParser::check_expectation(RequestHead& head) noexcept {
  head.expects_continue = false;
  if (head.version_minor == 0) return true;  // ignored there (RFC 9110 10.1.1)
  bool known = true;
  head.fields.each("expect", [&](const Field& field) {
    known = known && iequals(field.value, "100-continue");
    head.expects_continue = true;
  });
  if (!known) {
    refuse(417, "unknown_expectation");
    return false;
  }
  const bool has_body = head.framing.kind == BodyKind::chunked || head.framing.length > 0;
  head.expects_continue = head.expects_continue && has_body;
  return true;
}

}  // namespace weir::http
