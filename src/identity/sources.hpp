// SPDX-License-Identifier: Apache-2.0
// Where the value of a dimension is read from (spec ID-1, ID-2).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/http/message.hpp"
#include "weir/identity/options.hpp"

namespace weir::net {
struct TlsPeer;
}

namespace weir::identity {

// A dimension that is read from requests, and its sources with the hashes of their names. Refers to the
// options it was made from.
struct NamedSource {
  explicit NamedSource(const Source& source_) : source(source_), name(source_.name) {}
  const Source& source;
  http::FieldName name;
};
struct SoughtDimension {
  const DimensionOptions& dimension;
  std::vector<NamedSource> from;
};

// What a source says about one dimension.
struct Reading {
  enum class State : std::uint8_t {
    absent,         // the next source may speak
    present,        // `text` is the value
    contradictory,  // it is there but cannot be believed: the dimension is missing, whatever other sources
                    // say. (Falling through would let a client spoil a trusted source to reach one anyone may
                    // write.)
  };
  State state = State::absent;
  std::string_view text;
};

// Marks the values that `missing: ip` makes. Nothing that a client sends is accepted with this start, so that
// a substituted address never equals a real identity.
inline constexpr std::string_view kAddressMarker = "@ip:";

// Dimensions that no source gives: they follow from the configuration, the path and the route.
bool is_derived(Dimension d) noexcept;

// Whether the configuration believes this source whoever sends the request: then, and only then, a caller's
// name may open the exempt lane.
bool is_vouched_for(const Source& source) noexcept;

// Each returns absent for nothing or blank, contradictory for two differing values, for control characters
// and for values that start with kAddressMarker. Views point into the head, or into `buffer` where an escape
// had to be decoded. Linear in the size of the head.

// A text that did not come from a field, judged by the same rules.
Reading read_text(std::string_view text);

// Several equal lines are one value.
Reading read_header(const http::RequestHead& head, const http::FieldName& name);

// application/x-www-form-urlencoded: names and values are percent-decoded, + is a space. A value with a
// malformed escape is contradictory.
Reading read_query(const http::RequestHead& head, std::string_view name, std::string& buffer);

// All Cookie lines. Names are case-sensitive; a pair of quotes around the value is not part of it.
Reading read_cookie(const http::RequestHead& head, std::string_view name);

// A part of a client's verified certificate: subject, cn, san_dns, san_uri or san_email.
std::string_view certificate_part(const net::TlsPeer& certificate, std::string_view part) noexcept;
// Those words.
std::span<const std::string_view> certificate_parts() noexcept;

}  // namespace weir::identity
