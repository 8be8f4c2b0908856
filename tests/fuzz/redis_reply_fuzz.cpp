// SPDX-License-Identifier: Apache-2.0
// What a store sends: the same replies at every cut, and no more memory than what came justifies.
#include "fuzz/fuzzing.hpp"
#include "redis/reply.hpp"

namespace weir::fuzz {
namespace {

using redis::Reply;
using redis::ReplyReader;
using Progress = ReplyReader::Progress;

constexpr std::size_t kMaxReply = 64 * 1024;

struct Outcome {
  std::vector<Reply> replies;
  bool broken = false;
};

bool take_replies(ReplyReader& reader, Outcome& out) {
  for (;;) {
    Reply reply;
    const Progress progress = reader.next(reply);
    if (progress == Progress::partial) return true;
    if (progress == Progress::broken) return false;
    out.replies.push_back(std::move(reply));
  }
}

Outcome read(std::string_view wire, Cut cut) {
  Outcome out;
  ReplyReader reader(kMaxReply);
  std::size_t begin = 0;
  for (const std::size_t end : ends_of_pieces(wire, cut)) {
    const std::string piece(wire.substr(begin, end - begin));
    begin = end;
    if (reader.feed(piece) || !take_replies(reader, out)) {
      out.broken = true;
      break;
    }
  }
  return out;
}

std::size_t size_of(const Reply& reply) {
  std::size_t size = 1 + reply.text.size();
  for (const Reply& element : reply.elements) size += size_of(element);
  return size;
}

bool same(const Reply& a, const Reply& b) {
  if (a.type != b.type || a.integer != b.integer || a.text != b.text) return false;
  if (a.elements.size() != b.elements.size()) return false;
  for (std::size_t n = 0; n < a.elements.size(); ++n) {
    if (!same(a.elements[n], b.elements[n])) return false;
  }
  return true;
}

void run(std::string_view wire) {
  const Outcome whole = read(wire, Cut::whole);
  std::size_t total = 0;
  for (const Reply& reply : whole.replies) total += size_of(reply);
  require(total <= wire.size(), "no more comes out than goes in");
  for (const Cut cut : {Cut::single_bytes, Cut::some}) {
    const Outcome cut_up = read(wire, cut);
    require(cut_up.replies.size() == whole.replies.size(), "the number of replies depends on the cut");
    for (std::size_t n = 0; n < whole.replies.size(); ++n) {
      require(same(cut_up.replies[n], whole.replies[n]), "a reply depends on the cut");
    }
    require(cut_up.broken == whole.broken, "whether it breaks depends on the cut");
  }
}

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::fuzz::run(weir::fuzz::text_of(data, size));
  return 0;
}
