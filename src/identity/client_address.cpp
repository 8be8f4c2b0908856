// SPDX-License-Identifier: Apache-2.0
#include "identity/client_address.hpp"

#include <algorithm>

#include "identity/trim.hpp"

namespace weir::identity {
namespace {

constexpr int kMaxHops = 64;

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Follows hops from the right until one is untrusted or unreadable.
class Walk {
 public:
  Walk(const Address& peer, const CidrTable& trusted) : client_(peer), trusted_(trusted) {}

  const Address& client() const { return client_; }
  bool over() const { return over_; }
  void stop() { over_ = true; }

  void hop(std::string_view text) {
    if (++hops_ > kMaxHops) return stop();
    const auto address = parse_hop(text);
    if (!address) return stop();
    client_ = *address;
    if (!trusted_.contains(client_)) stop();
  }

 private:
  Address client_;
  const CidrTable& trusted_;
  int hops_ = 0;
  bool over_ = false;
};

// One X-Forwarded-For line, right to left. Empty elements are no hops (RFC 9110 5.6.1).
void walk_list(std::string_view line, Walk& walk) {
  while (!walk.over()) {
    const auto comma = line.rfind(',');
    const std::string_view hop = trim(comma == line.npos ? line : line.substr(comma + 1));
    if (!hop.empty()) walk.hop(hop);
    if (comma == line.npos) return;
    line = line.substr(0, comma);
  }
}

// The `for` value of one Forwarded element, without quotes; "" if there is none, or two, or an escaped one.
std::string_view for_value(std::string_view element) {
  std::string_view found;
  while (!element.empty()) {
    // Quoted strings may hold semicolons.
    bool quoted = false;
    std::size_t end = 0;
    for (; end < element.size() && (quoted || element[end] != ';'); ++end) {
      if (element[end] == '"') quoted = !quoted;
    }
    const std::string_view pair = trim(element.substr(0, end));
    element.remove_prefix(std::min(end + 1, element.size()));
    const auto equals = pair.find('=');
    if (equals == pair.npos || !http::iequals(pair.substr(0, equals), "for")) continue;
    if (!found.empty()) return {};
    found = pair.substr(equals + 1);
    if (found.size() >= 2 && found.front() == '"' && found.back() == '"') {
      found = found.substr(1, found.size() - 2);
    }
    if (found.empty() || found.find_first_of("\"\\") != found.npos) return {};
  }
  return found;
}

// One Forwarded line. Commas inside quoted strings do not separate, which can only be told from the left: the
// last elements are remembered, then walked from the right. A line whose quotes do not close says nothing.
void walk_forwarded(std::string_view line, Walk& walk) {
  std::array<std::string_view, kMaxHops> last;
  std::size_t count = 0;
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t n = 0; n <= line.size(); ++n) {
    if (n < line.size() && quoted && line[n] == '\\') {
      ++n;
    } else if (n < line.size() && line[n] == '"') {
      quoted = !quoted;
    } else if (n == line.size() || (line[n] == ',' && !quoted)) {
      const std::string_view element = trim(line.substr(begin, n - begin));
      if (!element.empty()) last[count++ % kMaxHops] = element;
      begin = n + 1;
    }
  }
  if (quoted) return walk.stop();
  for (std::size_t n = 0; n < std::min<std::size_t>(count, kMaxHops) && !walk.over(); ++n) {
    walk.hop(for_value(last[(count - 1 - n) % kMaxHops]));
  }
  if (count > kMaxHops) walk.stop();
}

// Applies `each` to every line of that name, the last line first; false if there was none.
template <class Each>
bool for_lines_from_last(const http::RequestHead& head, const http::FieldName& name, const Walk& walk,
                         Each each) {
  bool any = false;
  if (!head.fields.may_have(name)) return any;
  for (auto field = head.fields.rbegin(); field != head.fields.rend() && !walk.over(); ++field) {
    if (!field->is(name)) continue;
    any = true;
    each(field->value);
  }
  return any;
}

}  // namespace

std::optional<Address> parse_hop(std::string_view text) noexcept {
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == text.npos) return std::nullopt;
    const std::string_view after = text.substr(close + 1);
    if (!after.empty() && !(after.front() == ':' && is_port(after.substr(1)))) return std::nullopt;
    const std::string_view inside = text.substr(1, close - 1);
    if (inside.find(':') == inside.npos) return std::nullopt;
    return parse_address(inside);
  }
  const auto colon = text.find(':');
  if (colon != text.npos && text.find(':', colon + 1) == text.npos) {
    if (!is_port(text.substr(colon + 1))) return std::nullopt;
    return parse_address(text.substr(0, colon));
  }
  return parse_address(text);
}

Address client_address(const http::RequestHead& head, const Address& peer,
                       const CidrTable& trusted) noexcept {
  Address plain = plain_address(peer);
  if (!trusted.contains(plain)) return plain;
  Walk walk(plain, trusted);
  const auto list = [&walk](std::string_view line) { walk_list(line, walk); };
  if (for_lines_from_last(head, "X-Forwarded-For", walk, list)) return walk.client();
  const auto forwarded = [&walk](std::string_view line) { walk_forwarded(line, walk); };
  for_lines_from_last(head, "Forwarded", walk, forwarded);
  return walk.client();
}

}  // namespace weir::identity
