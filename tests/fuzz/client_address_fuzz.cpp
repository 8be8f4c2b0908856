// SPDX-License-Identifier: Apache-2.0
// Who the client is behind proxies, as X-Forwarded-For and Forwarded have it: never someone whom a trusted
// proxy did not name, the same however the list is split into lines, and what is written for the upstream is
// one clean line of each name.
#include <algorithm>
#include <array>

#include "fuzz/fuzzing.hpp"
#include "http/request_parser.hpp"
#include "identity/client_address.hpp"
#include "identity/forwarded_fields.hpp"

namespace weir::fuzz {
namespace {

using identity::Address;

identity::CidrTable trusted_table() {
  std::string why;
  const std::array blocks{*identity::parse_cidr("10.0.0.0/8", why),
                          *identity::parse_cidr("2001:db8:1::/48", why)};
  return identity::CidrTable(blocks);
}

const identity::CidrTable kTrusted = trusted_table();
const Address kProxy = *identity::parse_address("10.1.2.3");
const Address kStranger = *identity::parse_address("192.0.2.9");

// The field's lines, joined to one.
std::string joined(const http::RequestHead& head, std::string_view name) {
  std::string out;
  bool first = true;
  for (const http::Field& field : head.fields) {
    if (!http::iequals(field.name, name)) continue;
    if (!first) out += ", ";
    first = false;
    out += field.value;
  }
  return out;
}

void check_client(const http::RequestHead& head) {
  require(identity::client_address(head, kStranger, kTrusted) == kStranger, "a stranger names nobody");
  const Address client = identity::client_address(head, kProxy, kTrusted);
  require(client == identity::plain_address(client), "an address is plain");
  const bool told = head.find("x-forwarded-for") != nullptr || head.find("forwarded") != nullptr;
  if (!told) require(client == kProxy, "nobody was named");
  if (head.find("x-forwarded-for") == nullptr) return;
  const std::string one_line = joined(head, "x-forwarded-for");
  http::RequestHead single;
  single.fields = {{"X-Forwarded-For", one_line}};
  require(identity::client_address(single, kProxy, kTrusted) == client, "the split into lines matters");
  if (client == kProxy) return;
  identity::AddressText text;
  const std::string appended = one_line + ", " + std::string(identity::address_text(kStranger, text));
  single.fields = {{"X-Forwarded-For", appended}};
  require(identity::client_address(single, kProxy, kTrusted) == kStranger, "the rightmost stranger counts");
}

void check_written(const http::RequestHead& head, const Address& peer, bool trusted) {
  std::string lines;
  identity::append_forwarded_fields(lines, head, peer, trusted, trusted);
  const std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n";
  http::ServerOptions options;
  options.header_bytes = 64 * 1024;
  http::RequestParser parser;
  http::RequestHead again;
  const auto state = parser.parse(bytes, options, again);
  if (bytes.size() >= options.header_bytes) return;
  require(state == http::RequestParser::State::complete, "what the upstream gets is broken");
  require(parser.head_end() == bytes.size(), "what the upstream gets ends a head");
  require(again.fields.size() == 5, "the upstream gets four lines");
  for (const std::string_view name :
       {"x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port"}) {
    const auto count =
        std::count_if(again.fields.begin(), again.fields.end(),
                      [name](const http::Field& field) { return http::iequals(field.name, name); });
    require(count == 1, "the upstream gets one line of each name");
  }
}

void check_hop(std::string_view text) {
  const auto hop = identity::parse_hop(text);
  if (!hop) return;
  identity::AddressText buffer;
  const auto again = identity::parse_address(identity::address_text(*hop, buffer));
  require(again && *again == *hop, "an address's text is its own");
}

// The input is the field lines of a request.
void run(std::string_view bytes) {
  std::string wire = "GET /a HTTP/1.1\r\nHost: gateway.test:8080\r\n";
  for (const std::string_view line : parts_of(bytes, "\n")) {
    if (line.empty()) continue;
    wire += line;
    wire += "\r\n";
    check_hop(line);
  }
  wire += "\r\n";
  http::RequestParser parser;
  http::RequestHead head;
  if (parser.parse(wire, http::ServerOptions(), head) != http::RequestParser::State::complete) return;
  check_client(head);
  check_written(head, kProxy, true);
  check_written(head, kStranger, false);
}

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::fuzz::run(weir::fuzz::text_of(data, size));
  return 0;
}
