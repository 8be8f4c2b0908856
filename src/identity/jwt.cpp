// SPDX-License-Identifier: Apache-2.0
#include "identity/jwt.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <cmath>
#include <optional>

#include "identity/base64url.hpp"
#include "identity/jwt_json.hpp"
#include "identity/jwt_keys.hpp"

namespace weir::identity {
namespace {

namespace json = boost::json;

std::string_view view_of(const json::string& text) {
  return {text.data(), text.size()};
}

// The three parts of a compact JWS.
struct Parts {
  std::string_view header;
  std::string_view payload;
  std::string_view signature;
  std::string_view signed_text;  // header.payload
};

std::optional<Parts> split(std::string_view token) {
  if (token.size() > kMaxToken) return std::nullopt;
  const std::size_t first = token.find('.');
  const std::size_t second = first == token.npos ? first : token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos) return std::nullopt;
  return Parts{token.substr(0, first), token.substr(first + 1, second - first - 1), token.substr(second + 1),
               token.substr(0, second)};
}

std::optional<json::object> decode_object(std::string_view part) {
  std::string octets;
  if (!decode_base64url(part, octets)) return std::nullopt;
  return parse_strict_object(octets);
}

// A member that has to be a string if it is there; nullopt if it is something else.
std::optional<std::string_view> text_member(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return std::string_view();
  const json::string* text = value->if_string();
  if (text == nullptr) return std::nullopt;
  return view_of(*text);
}

struct Header {
  AuthFault fault = AuthFault::malformed;
  JwtAlgorithm algorithm = JwtAlgorithm::hs256;
  std::string id;
};

Header read_header(std::string_view part, const std::vector<JwtAlgorithm>& allowed) {
  Header header;
  const std::optional<json::object> object = decode_object(part);
  // `crit` demands that extensions are understood; none is.
  if (!object || object->contains("crit")) return header;
  const auto id = text_member(*object, "kid");
  const auto name = text_member(*object, "alg");
  if (!id || !name || name->empty()) return header;
  const auto known =
      std::find_if(allowed.begin(), allowed.end(), [&](JwtAlgorithm one) { return name_of(one) == *name; });
  if (known == allowed.end()) {
    header.fault = AuthFault::algorithm;
    return header;
  }
  header.fault = AuthFault::none;
  header.algorithm = *known;
  header.id = *id;
  return header;
}

// A NumericDate in milliseconds; false if it is there and is none. The bound, some 31,000 years, keeps sums
// in range.
bool read_time(const json::object& payload, std::string_view name, std::optional<std::int64_t>& out) {
  constexpr double kMostSeconds = 1e12;
  const json::value* value = payload.if_contains(name);
  if (value == nullptr) return true;
  double seconds = 0;
  if (const auto* whole = value->if_int64()) {
    seconds = static_cast<double>(*whole);
  } else if (const auto* real = value->if_double()) {
    seconds = *real;
  } else {
    return false;
  }
  if (!std::isfinite(seconds) || std::abs(seconds) > kMostSeconds) return false;
  out = static_cast<std::int64_t>(seconds * 1000);
  return true;
}

bool read_times(const json::object& payload, std::int64_t leeway_ms, JwtClaims& out) {
  std::optional<std::int64_t> exp, nbf, iat;
  if (!read_time(payload, "exp", exp) || !read_time(payload, "nbf", nbf) || !read_time(payload, "iat", iat)) {
    return false;
  }
  if (exp) out.until_ms = *exp + leeway_ms;
  if (nbf) out.from_ms = *nbf - leeway_ms;
  if (iat) out.from_ms = std::max(out.from_ms, *iat - leeway_ms);
  return true;
}

bool is_for(const json::object& payload, const std::vector<std::string>& audiences) {
  if (audiences.empty()) return true;
  const auto is_ours = [&](const json::value& one) {
    const json::string* text = one.if_string();
    return text != nullptr &&
           std::find(audiences.begin(), audiences.end(), view_of(*text)) != audiences.end();
  };
  const json::value* value = payload.if_contains("aud");
  if (value == nullptr) return false;
  const json::array* several = value->if_array();
  return several == nullptr ? is_ours(*value) : std::any_of(several->begin(), several->end(), is_ours);
}

const json::value* find_claim(const json::object& object, std::string_view name) {
  if (const json::value* whole = object.if_contains(name)) return whole;
  const std::size_t dot = name.find('.');
  if (dot == name.npos) return nullptr;
  const json::value* outer = object.if_contains(name.substr(0, dot));
  const json::object* inner = outer == nullptr ? nullptr : outer->if_object();
  return inner == nullptr ? nullptr : find_claim(*inner, name.substr(dot + 1));
}

JwtClaims::Claim read_claim(const json::object& payload, std::string_view name) {
  using State = JwtClaims::State;
  const json::value* value = find_claim(payload, name);
  if (value == nullptr) return {};
  if (const json::string* text = value->if_string()) return {State::present, std::string(view_of(*text))};
  if (const auto* number = value->if_int64()) return {State::present, std::to_string(*number)};
  if (const auto* number = value->if_uint64()) return {State::present, std::to_string(*number)};
  return {State::unusable, {}};
}

}  // namespace

AuthFault JwtClaims::at(std::int64_t wall_ms) const noexcept {
  if (wall_ms >= until_ms) return AuthFault::expired;
  return wall_ms < from_ms ? AuthFault::not_yet_valid : AuthFault::none;
}

std::size_t JwtClaims::size() const noexcept {
  std::size_t size = 0;
  for (const Claim& claim : claims) size += claim.text.size();
  return size;
}

JwtVerifier::JwtVerifier(JwtOptions options, std::vector<std::string> claims)
    : options_(std::move(options)), claims_(std::move(claims)) {}

// The payload is not parsed before its signature is good.
JwtOutcome JwtVerifier::verify(std::string_view token, std::int64_t wall_ms) const {
  const std::optional<Parts> parts = split(token);
  if (!parts) return {AuthFault::malformed, nullptr};
  const Header header = read_header(parts->header, options_.algorithms);
  if (header.fault != AuthFault::none) return {header.fault, nullptr};
  const JwtKey* key = options_.keys->find(header.algorithm, header.id);
  if (key == nullptr) return {AuthFault::unknown_key, nullptr};
  std::string signature;
  if (!decode_base64url(parts->signature, signature)) return {AuthFault::malformed, nullptr};
  if (!key->verifies(parts->signed_text, signature)) return {AuthFault::signature, nullptr};

  const std::optional<json::object> payload = decode_object(parts->payload);
  auto claims = std::make_shared<JwtClaims>();
  if (!payload || !read_times(*payload, options_.leeway_ms, *claims)) return {AuthFault::malformed, nullptr};
  const auto issuer = text_member(*payload, "iss");
  if (!options_.issuer.empty() && issuer != options_.issuer) return {AuthFault::issuer, nullptr};
  if (!is_for(*payload, options_.audiences)) return {AuthFault::audience, nullptr};
  for (const std::string& name : claims_) claims->claims.push_back(read_claim(*payload, name));
  return {claims->at(wall_ms), std::move(claims)};
}

}  // namespace weir::identity
