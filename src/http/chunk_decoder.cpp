// SPDX-License-Identifier: Apache-2.0
#include "http/chunk_decoder.hpp"

#include <algorithm>
#include <cstring>

#include "http/characters.hpp"

namespace weir::http {
namespace {

constexpr std::uint64_t kFreeFramingPerChunk = 16;  // size, CRLFs: what any chunk needs
constexpr std::uint8_t kMaxDigits = 16;

bool is_text(char c) noexcept {
  return c == '\t' || (static_cast<std::uint8_t>(c) >= 0x20 && c != 0x7f);
}

}  // namespace

ChunkDecoder::Step ChunkDecoder::decode(char* data, std::size_t size) {
  Step step;
  while (step.consumed < size && state_ != State::done && state_ != State::broken) {
    if (state_ != State::data) {
      take_framing_byte(data[step.consumed++]);
      continue;
    }
    const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(left_, size - step.consumed));
    std::memmove(data + step.decoded, data + step.consumed, piece);
    step.decoded += piece;
    step.consumed += piece;
    left_ -= piece;
    excess_ -= std::min<std::uint64_t>(excess_, piece);
    if (left_ == 0) state_ = State::data_return;
  }
  return step;
}

void ChunkDecoder::take_framing_byte(char c) {
  ++line_;
  ++excess_;
  const bool in_trailers = state_ >= State::trailer_start;
  if (line_ > (in_trailers ? kTrailerBytes : kLineBytes) || excess_ > kExcessBytes) {
    state_ = State::broken;
    return;
  }
  const bool of_a_line =
      in_trailers && state_ <= State::trailer_feed && !(state_ == State::trailer_start && c == '\r');
  if (of_a_line && trailers_ != nullptr) *trailers_ += c;
  switch (state_) {
    case State::size:
      state_ = after_size_byte(c);
      break;
    case State::extension:
      state_ = after_extension_byte(c);
      break;
    case State::quoted:
      state_ = after_quoted_byte(c);
      break;
    case State::quoted_pair:
      state_ = is_text(c) ? State::quoted : State::broken;
      break;
    case State::size_feed:
      line_ = 0;
      state_ = c != '\n' ? State::broken : left_ > 0 ? State::data : State::trailer_start;
      break;
    case State::data_return:
      state_ = c == '\r' ? State::data_feed : State::broken;
      break;
    case State::data_feed:
      line_ = 0;
      digits_ = 0;
      excess_ -= std::min(excess_, kFreeFramingPerChunk);
      state_ = c == '\n' ? State::size : State::broken;
      break;
    case State::trailer_start:
    case State::trailer_name:
    case State::trailer_value:
      state_ = after_trailer_byte(c);
      break;
    case State::trailer_feed:
      state_ = c == '\n' ? State::trailer_start : State::broken;
      break;
    case State::end_feed:
      state_ = c == '\n' ? State::done : State::broken;
      break;
    case State::data:
    case State::done:
    case State::broken:
      break;
  }
}

ChunkDecoder::State ChunkDecoder::after_size_byte(char c) noexcept {
  const int digit = hex_value(c);
  if (digit >= 0) {
    if (++digits_ > kMaxDigits) return State::broken;
    left_ = left_ << 4 | static_cast<std::uint64_t>(digit);
    return left_ > (std::uint64_t{1} << 62) ? State::broken : State::size;
  }
  if (digits_ == 0) return State::broken;
  if (c == ';') return State::extension;
  return c == '\r' ? State::size_feed : State::broken;
}

ChunkDecoder::State ChunkDecoder::after_extension_byte(char c) noexcept {
  if (c == '\r') return State::size_feed;
  if (c == '"') return State::quoted;
  return is_text(c) ? State::extension : State::broken;
}

ChunkDecoder::State ChunkDecoder::after_quoted_byte(char c) noexcept {
  if (c == '"') return State::extension;
  if (c == '\\') return State::quoted_pair;
  return is_text(c) ? State::quoted : State::broken;
}

ChunkDecoder::State ChunkDecoder::after_trailer_byte(char c) noexcept {
  if (state_ == State::trailer_value) {
    if (c == '\r') return State::trailer_feed;
    return is_text(c) ? State::trailer_value : State::broken;
  }
  if (state_ == State::trailer_start && c == '\r') return State::end_feed;
  if (state_ == State::trailer_name && c == ':') return State::trailer_value;
  return is_token_char(c) ? State::trailer_name : State::broken;
}

}  // namespace weir::http
