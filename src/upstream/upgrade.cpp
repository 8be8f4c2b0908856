// SPDX-License-Identifier: Apache-2.0
#include "upstream/upgrade.hpp"

#include <algorithm>

#include "http/characters.hpp"

namespace weir::upstream {
namespace {

using http::iequals;

// Calls `take` for each member of the list field `name`, all its lines together.
template <class Take>
void each_member(const http::Fields& fields, const http::FieldName& name, Take take) {
  fields.each(name, [&take](const http::Field& field) {
    std::string_view list = field.value;
    std::string_view member;
    while (http::next_member(list, member)) take(member);
  });
}

bool connection_says_upgrade(const http::Fields& fields) {
  bool says = false;
  each_member(fields, "connection",
              [&says](std::string_view option) { says = says || iequals(option, "upgrade"); });
  return says;
}

}  // namespace

std::string_view wanted_upgrade(const http::RequestHead& head,
                                const std::vector<std::string>& allowed) noexcept {
  const bool has_body = head.framing.kind == http::BodyKind::chunked || head.framing.length > 0;
  if (head.method != http::Method::get || head.version_minor < 1 || has_body || allowed.empty()) return {};
  if (head.find("upgrade") == nullptr || !connection_says_upgrade(head.fields)) return {};
  std::string_view wanted;
  each_member(head.fields, "upgrade", [&](std::string_view protocol) {
    const auto known = std::find_if(allowed.begin(), allowed.end(),
                                    [protocol](const std::string& one) { return iequals(one, protocol); });
    if (wanted.empty() && known != allowed.end()) wanted = *known;
  });
  return wanted;
}

bool accepts_upgrade(const http::ResponseHead& head, std::string_view upgrade) noexcept {
  if (upgrade.empty() || head.version_minor < 1 || !connection_says_upgrade(head.fields)) return false;
  int protocols = 0;
  bool same = true;
  each_member(head.fields, "upgrade", [&](std::string_view protocol) {
    ++protocols;
    same = same && iequals(protocol, upgrade);
  });
  return protocols == 1 && same;
}

void append_upgrade(std::string& out, std::string_view upgrade) {
  out += "Connection: Upgrade\r\nUpgrade: ";
  out += upgrade;
  out += "\r\n";
}

}  // namespace weir::upstream
