// SPDX-License-Identifier: Apache-2.0
#include "identity/sources.hpp"

#include <algorithm>

#include "identity/percent.hpp"
#include "identity/trim.hpp"
#include "net/tls_certificate.hpp"

namespace weir::identity {
namespace {

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// Gathers the values of one name. Keeps the first; later ones must equal it.
class Gathering {
 public:
  bool empty() const { return !seen_; }

  void add(std::string_view value) {
    value = trim(value);
    if (!seen_) text_ = value;
    if (value != text_) contradictory_ = true;
    seen_ = true;
  }
  void spoil() { seen_ = contradictory_ = true; }

  Reading reading() const {
    if (contradictory_) return {Reading::State::contradictory, {}};
    if (text_.empty()) return {};
    if (text_.starts_with(kAddressMarker) || std::any_of(text_.begin(), text_.end(), is_control)) {
      return {Reading::State::contradictory, {}};
    }
    return {Reading::State::present, text_};
  }

 private:
  std::string_view text_;
  bool seen_ = false;
  bool contradictory_ = false;
};

bool is_encoded(std::string_view text) {
  return text.find_first_of("%+") != text.npos;
}

// Replaces `out` by the decoded text; false if an escape is malformed.
bool decode_form(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t n = 0; n < text.size(); ++n) {
    if (text[n] != '%') {
      out += text[n] == '+' ? ' ' : text[n];
      continue;
    }
    const int octet = decode_escape(text.substr(n));
    if (octet < 0) return false;
    out += static_cast<char>(octet);
    n += 2;
  }
  return true;
}

// Takes the text before the next `separator` off `rest`.
std::string_view take(std::string_view& rest, char separator) {
  const std::string_view taken = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(taken.size() + 1, rest.size()));
  return taken;
}

}  // namespace

std::span<const std::string_view> certificate_parts() noexcept {
  static constexpr std::string_view parts[] = {"subject", "cn", "san_dns", "san_uri", "san_email"};
  return parts;
}

std::string_view certificate_part(const net::TlsPeer& certificate, std::string_view part) noexcept {
  if (part == "subject") return certificate.subject;
  if (part == "cn") return certificate.common_name;
  if (part == "san_dns") return certificate.san_dns;
  if (part == "san_uri") return certificate.san_uri;
  return certificate.san_email;
}

Reading read_text(std::string_view text) {
  Gathering gathering;
  gathering.add(text);
  return gathering.reading();
}

Reading read_header(const http::RequestHead& head, const http::FieldName& name) {
  Gathering gathering;
  head.fields.each(name, [&gathering](const http::Field& field) { gathering.add(field.value); });
  return gathering.reading();
}

Reading read_query(const http::RequestHead& head, std::string_view name, std::string& buffer) {
  thread_local std::string other;
  Gathering gathering;
  for (std::string_view rest = head.query; !rest.empty();) {
    std::string_view value = take(rest, '&');
    const std::string_view raw_name = take(value, '=');
    const bool matches =
        raw_name == name || (is_encoded(raw_name) && decode_form(raw_name, other) && other == name);
    if (!matches) continue;
    if (!is_encoded(value)) {
      gathering.add(value);
      continue;
    }
    // Only the first value is kept, so only it may need `buffer`.
    std::string& decoded = gathering.empty() ? buffer : other;
    if (decode_form(value, decoded)) {
      gathering.add(decoded);
    } else {
      gathering.spoil();
    }
  }
  return gathering.reading();
}

Reading read_cookie(const http::RequestHead& head, std::string_view name) {
  Gathering gathering;
  head.fields.each("Cookie", [&](const http::Field& field) {
    for (std::string_view rest = field.value; !rest.empty();) {
      std::string_view value = take(rest, ';');
      if (trim(take(value, '=')) != name) continue;
      value = trim(value);
      if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
        value = value.substr(1, value.size() - 2);
      }
      gathering.add(value);
    }
  });
  return gathering.reading();
}

bool is_derived(Dimension d) noexcept {
  return d == dimension::node || d == dimension::api || d == dimension::api_class || d == dimension::upstream;
}

bool is_vouched_for(const Source& source) noexcept {
  return source.trusted_only || source.kind == SourceKind::api_key || source.kind == SourceKind::jwt ||
         source.kind == SourceKind::client_certificate || source.kind == SourceKind::peer_address ||
         source.kind == SourceKind::region;
}

}  // namespace weir::identity
