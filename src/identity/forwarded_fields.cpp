// SPDX-License-Identifier: Apache-2.0
#include "identity/forwarded_fields.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "http/characters.hpp"
#include "identity/addresses.hpp"
#include "weir/base/append.hpp"

namespace weir::identity {
namespace {

constexpr std::array<std::string_view, 5> kWritten{"x-forwarded-for", "x-forwarded-proto", "x-forwarded-host",
                                                   "x-forwarded-port", "x-request-id"};
constexpr std::array<std::string_view, 14> kClaims{
    "forwarded",          "forwarded-for",          "x-forwarded",
    "x-forwarded-by",     "x-forwarded-server",     "x-forwarded-ssl",
    "x-forwarded-scheme", "x-forwarded-prefix",     "x-real-ip",
    "x-client-ip",        "true-client-ip",         "x-cluster-client-ip",
    "x-original-host",    "x-forwarded-client-cert"};

// The value that every line of this name agrees on; "" if there is none or two differ.
std::string_view sole_value(const http::RequestHead& head, const http::FieldName& name) {
  std::string_view value;
  bool seen = false;
  bool agreed = true;
  head.fields.each(name, [&](const http::Field& field) {
    agreed = !seen || (agreed && field.value == value);
    value = field.value;
    seen = true;
  });
  return agreed ? value : std::string_view();
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

constexpr bool is_host_char(char c) noexcept {
  return http::is_digit(c) || http::is_alpha(c) ||
         std::string_view(".-_:[]").find(c) != std::string_view::npos;
}
constexpr std::array<bool, 256> kHostChars = http::table_of(is_host_char);

// A host with an optional port, as far as an upstream may take it into a link: no list, no space, no path.
bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= 255 && std::all_of(text.begin(), text.end(), [](char c) {
    return kHostChars[static_cast<std::uint8_t>(c)];
  });
}

std::string_view port_of(std::string_view authority) {
  const auto colon = authority.rfind(':');  // one within brackets has no digits alone behind it
  if (colon == authority.npos) return {};
  const std::string_view port = authority.substr(colon + 1);
  return is_port(port) ? port : std::string_view();
}

// Every spelling of `name` with underscores for some of its hyphens.
void add_spellings(std::vector<std::string>& names, std::string_view name) {
  std::vector<std::size_t> hyphens;
  for (std::size_t n = 0; n < name.size(); ++n) {
    if (name[n] == '-' && hyphens.size() < 3) hyphens.push_back(n);
  }
  for (std::size_t choice = 0; choice < std::size_t{1} << hyphens.size(); ++choice) {
    std::string spelling(name);
    for (std::size_t n = 0; n < hyphens.size(); ++n) {
      if ((choice >> n & 1U) != 0) spelling[hyphens[n]] = '_';
    }
    names.push_back(std::move(spelling));
  }
}

}  // namespace

void append_forwarded_fields(std::string& out, const http::RequestHead& head,
                             const boost::asio::ip::address& peer, bool secure, bool peer_trusted) {
  out += "X-Forwarded-For: ";
  if (peer_trusted) {
    head.fields.each("X-Forwarded-For", [&out](const http::Field& field) {
      if (!field.value.empty()) append(out, field.value, ", ");
    });
  }
  std::string_view proto = secure ? "https" : "http";
  std::string_view host = is_host(head.authority) ? head.authority : std::string_view();
  std::string_view port = port_of(head.authority);
  if (peer_trusted) {
    const std::string_view told_proto = sole_value(head, "X-Forwarded-Proto");
    const std::string_view told_host = sole_value(head, "X-Forwarded-Host");
    const std::string_view told_port = sole_value(head, "X-Forwarded-Port");
    if (told_proto == "http" || told_proto == "https") proto = told_proto;
    if (is_host(told_host)) {
      host = told_host;
      port = port_of(told_host);
    }
    if (is_port(told_port)) port = told_port;
  }
  if (port.empty()) port = proto == "https" ? "443" : "80";
  AddressText text;
  const std::string_view from = address_key(peer, 32, 128, text);
  append(out, from, "\r\nX-Forwarded-Proto: ", proto, host.empty() ? "" : "\r\nX-Forwarded-Host: ", host,
         "\r\nX-Forwarded-Port: ", port, "\r\n");
}

FieldsToRemove fields_to_remove(std::span<const std::string> asserted_headers) {
  FieldsToRemove names;
  for (const std::string_view name : kWritten) add_spellings(names.from_trusted, name);
  for (const std::string& name : asserted_headers) add_spellings(names.from_trusted, name);
  names.from_others = names.from_trusted;
  for (const std::string_view name : kClaims) add_spellings(names.from_others, name);
  return names;
}

}  // namespace weir::identity
