// SPDX-License-Identifier: Apache-2.0
#include "identity/request_id.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "weir/base/octets.hpp"

namespace weir::identity {
namespace {

constexpr std::size_t kMaxLength = 128;
constexpr std::uint64_t kCounterBits = 12;  // rand_a of RFC 9562
constexpr std::uint64_t kCounterMax = (1U << kCounterBits) - 1;

constexpr std::array<bool, 256> kIdOctet = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = 0; c < 128; ++c) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z' && c >= 'A';
    table[c] = digit || letter;
  }
  for (const char c : std::string_view("._~+/=@:-")) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

// One thread's ids: time, then a counter that starts at a random value below half of its range in each
// millisecond (RFC 9562 6.2, method 1) and borrows a millisecond from the future when it is full.
class Sequence {
 public:
  struct Uuid {
    std::uint64_t high;
    std::uint64_t low;
  };

  Uuid next(std::int64_t wall_ms) {
    const auto now = static_cast<std::uint64_t>(std::max<std::int64_t>(wall_ms, 0));
    if (now > last_ms_) {
      restart(now);
    } else if (++counter_ > kCounterMax) {
      restart(last_ms_ + 1);
    }
    const std::uint64_t high = last_ms_ << 16 | std::uint64_t{7} << 12 | counter_;
    const std::uint64_t low = std::uint64_t{1} << 63 | random_() >> 2;
    return {high, low};
  }

 private:
  void restart(std::uint64_t ms) {
    last_ms_ = ms;
    counter_ = random_() & kCounterMax >> 1;
  }

  std::mt19937_64 random_{[] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device(), device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }()};
  std::uint64_t last_ms_ = 0;
  std::uint64_t counter_ = 0;
};

// Sixteen digits, lower case.
void write_hex(char* out, std::uint64_t value) {
  for (const std::uint64_t half :
       {hex_octets(static_cast<std::uint32_t>(value >> 32)), hex_octets(static_cast<std::uint32_t>(value))}) {
    std::memcpy(out, &half, sizeof half);
    out += sizeof half;
  }
}

}  // namespace

bool is_valid_request_id(std::string_view id) noexcept {
  return !id.empty() && id.size() <= kMaxLength &&
         std::all_of(id.begin(), id.end(), [](char c) { return kIdOctet[static_cast<unsigned char>(c)]; });
}

void append_request_id(std::string& out, std::string_view given, std::int64_t wall_ms) {
  if (is_valid_request_id(given)) {
    out += given;
    return;
  }
  thread_local Sequence sequence;
  const auto [high, low] = sequence.next(wall_ms);
  std::array<char, 32> digits;
  write_hex(digits.data(), high);
  write_hex(digits.data() + 16, low);
  std::array<char, 36> text;
  text.fill('-');
  std::memcpy(text.data(), digits.data(), 8);
  std::memcpy(text.data() + 9, digits.data() + 8, 4);
  std::memcpy(text.data() + 14, digits.data() + 12, 4);
  std::memcpy(text.data() + 19, digits.data() + 16, 4);
  std::memcpy(text.data() + 24, digits.data() + 20, 12);
  out += std::string_view(text.data(), text.size());
}

}  // namespace weir::identity
