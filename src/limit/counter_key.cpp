// SPDX-License-Identifier: Apache-2.0
#include "limit/counter_key.hpp"

#include <algorithm>
#include <charconv>

#include "base/hash.hpp"
#include "base/short_copy.hpp"
#include "limit/algorithm_table.hpp"
#include "limit/key_text.hpp"

namespace weir::limit {
namespace {

constexpr std::string_view kBuiltIn =
    "ncuaikptgr";  // by index: node caller user api ip class upstream tier region role
constexpr std::uint8_t kNode = 0;
constexpr std::uint8_t kAddress = 4;
constexpr std::string_view kAddressMark = "@ip:";  // an identity that stands for its address (`missing: ip`)
constexpr std::size_t kMaxNameBytes = 33;
constexpr std::size_t kTailBytes = 48;  // algorithm and window; a calendar zone that is longer is digested

char* write_hash(char* out, std::string_view text) {
  const Hash128 hash = stable_hash128(text);
  for (const std::uint64_t half : {hash.high, hash.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) *out++ = "0123456789abcdef"[(half >> shift) & 15];
  }
  return out;
}

char* write_tail(char* out, const Policy& policy) {
  out = copy(out, short_name(policy.terms.algorithm));
  *out++ = ':';
  if (policy.calendar == CalendarUnit::none) return std::to_chars(out, out + 20, policy.terms.window_ms).ptr;
  out = copy(out, policy.calendar == CalendarUnit::day ? "day@" : "month@");
  if (escaped_size(policy.time_zone) <= kMaxNameBytes) return write_escaped(out, policy.time_zone);
  *out++ = '#';
  return copy(out, digest_hex(policy.time_zone));
}

}  // namespace

std::string escaped(std::string_view text, std::size_t most) {
  const std::size_t size = escaped_size(text);
  if (size > most) return '#' + digest_hex(text);
  std::string result(size, '\0');
  write_escaped(result.data(), text);
  return result;
}

std::string_view ComponentValues::of(std::uint8_t dimension) {
  const std::uint32_t bit = std::uint32_t{1} << dimension;
  if ((known_ & bit) == 0) {
    known_ |= bit;
    const std::string_view value = write(dimension, entry(dimension).text);
    values_[dimension] = value.data();
    sizes_[dimension] = static_cast<std::uint32_t>(value.size());
  }
  return {values_[dimension], sizes_[dimension]};
}

std::string_view ComponentValues::write(std::uint8_t dimension, std::string_view text) {
  char* const begin = bytes_.data() + used_;
  char* end = begin;
  if (dimension == kAddress) {
    end = write_hash(begin, text);
  } else if (text.starts_with(kAddressMark)) {
    end = write_hash(copy(begin, "#@"), text);  // '#' is escaped in every real value
  } else {
    if (text.size() <= kMaxValueBytes && !has_special(text)) return text;
    if (escaped_size(text) <= kMaxValueBytes) {
      end = write_escaped(begin, text);
    } else {
      *end++ = '#';
      end = copy(end, digest_hex(text));
    }
  }
  const auto size = static_cast<std::size_t>(end - begin);
  used_ += size;
  return {begin, size};
}

KeyShape::KeyShape(std::string_view node, const Layer& layer, std::uint8_t caller_dimension)
    : head_("w2:" + escaped(node, kMaxNameBytes) + ':'),
      exempt_head_(head_ + "x:"),
      layer_(':' + escaped(layer.name, kMaxNameBytes) + ':') {
  const auto caller = std::find(layer.key.begin(), layer.key.end(), caller_dimension);
  const std::size_t tagged =
      caller == layer.key.end() ? 0 : static_cast<std::size_t>(caller - layer.key.begin());
  fixed_bytes_ = exempt_head_.size() + layer_.size() + kTailBytes + 2;
  for (std::size_t n = 0; n < layer.key.size(); ++n) {
    const std::uint8_t dimension = layer.key[n];
    const std::string name = dimension < kBuiltIn.size() ? std::string(1, kBuiltIn[dimension])
                                                         : escaped(layer.key_names[n], kMaxNameBytes);
    fixed_bytes_ += name.size() + 2;
    std::string lead = n == 0 ? "" : ":";
    if (n == tagged) lead += '{';
    parts_.push_back({dimension, lead + name, n == tagged});
  }
  usual_ = layer.policies.usual();
  if (always_fits() && usual_ != nullptr)
    write_usual_pieces();
  else
    usual_ = nullptr;
}

void KeyShape::write_usual_pieces() {
  const auto add = [&](std::string text) {
    const std::size_t used = text.size();
    text.resize((used + kBlock - 1) / kBlock * kBlock);
    usual_pieces_.push_back({std::move(text), used});
  };
  std::string text = head_;
  for (const Part& part : parts_) {
    text += part.lead;
    if (part.dimension != kNode) {
      add(text + '=');
      text.clear();
      usual_values_.push_back(part.dimension);
    }
    if (part.tagged) text += '}';
  }
  char tail[kTailBytes];
  add(text + layer_ + std::string(tail, write_tail(tail, *usual_)));
}

std::size_t KeyShape::write_usual(char* out, ComponentValues& values) const {
  const Piece* piece = usual_pieces_.data();
  char* at = copy_blocks(out, piece->text.data(), piece->size);
  for (const std::uint8_t dimension : usual_values_) {
    if (values.entry(dimension).fact != Fact::present) return 0;
    at = copy(at, values.of(dimension));
    ++piece;
    at = copy_blocks(at, piece->text.data(), piece->size);
  }
  return static_cast<std::size_t>(at - out);
}

std::size_t KeyShape::write(char* out, ComponentValues& values, const Policy& policy, bool exempt) const {
  if (&policy == usual_ && !exempt) {
    const std::size_t size = write_usual(out, values);
    if (size > 0) return size;
  }
  char* at = copy(out, exempt ? exempt_head_ : head_);
  at += always_fits() || fits(values) ? write_components(at, values) : write_digest(at, values);
  at = copy(at, layer_);
  return static_cast<std::size_t>(write_tail(at, policy) - out);
}

bool KeyShape::always_fits() const {
  return fixed_bytes_ + parts_.size() * kMaxValueBytes + kBlock <= kMaxKeyBytes;
}

bool KeyShape::fits(ComponentValues& values) const {
  std::size_t size = fixed_bytes_;
  for (const Part& part : parts_) size += values.of(part.dimension).size();
  return size <= kMaxKeyBytes;
}

std::size_t KeyShape::write_components(char* out, ComponentValues& values) const {
  char* at = out;
  for (const Part& part : parts_) {
    at = copy(at, part.lead);
    const Fact fact = values.entry(part.dimension).fact;
    if (fact == Fact::anonymous) {
      *at++ = '~';
    } else if (part.dimension != kNode) {
      *at++ = '=';
      at = copy(at, values.of(part.dimension));
    }
    if (part.tagged) *at++ = '}';
  }
  return static_cast<std::size_t>(at - out);
}

std::size_t KeyShape::write_digest(char* out, ComponentValues& values) const {
  std::string all(fixed_bytes_ + parts_.size() * kMaxValueBytes, '\0');
  all.resize(write_components(all.data(), values));
  const std::size_t open = all.find('{');
  char* at = copy(out, std::string_view(all).substr(open, all.find('}') - open + 1));
  at = copy(at, ":#");
  at = copy(at, digest_hex(all));
  return static_cast<std::size_t>(at - out);
}

}  // namespace weir::limit
