// SPDX-License-Identifier: Apache-2.0
// A chunked body through the gateway, both ways: decoding does not depend on the cut, never gives more than
// it took and touches nothing behind the end; what is encoded again decodes to the same bytes.
#include "fuzz/fuzzing.hpp"
#include "http/body_reader.hpp"
#include "http/chunk_encoder.hpp"
#include "http/frame_boundary.hpp"
#include "http/response_parser.hpp"
#include "http/response_writer.hpp"
#include "upstream/trailers.hpp"

namespace weir::fuzz {
namespace {

using http::BodyKind;

struct Decoded {
  std::string bytes;
  std::vector<std::string> pieces;
  std::string trailers;
  std::size_t consumed = 0;
  bool done = false;
  bool broken = false;
};

Decoded decode(std::string_view wire, Cut cut, http::Framing framing) {
  Decoded out;
  http::BodyReader reader(framing);
  reader.collect_trailers(&out.trailers);
  std::size_t begin = 0;
  for (const std::size_t end : ends_of_pieces(wire, cut)) {
    std::string piece(wire.substr(begin, end - begin));
    begin = end;
    const auto step = reader.feed(piece.data(), piece.size());
    require(step.consumed <= piece.size(), "no more is used than there is");
    require(step.bytes.size() <= step.consumed, "no more comes out than goes in");
    const std::string_view behind = std::string_view(piece).substr(step.consumed);
    require(behind == wire.substr(end - behind.size(), behind.size()), "the next message is left alone");
    out.bytes += step.bytes;
    if (!step.bytes.empty()) out.pieces.emplace_back(step.bytes);
    out.consumed += step.consumed;
    if (reader.done() || reader.broken()) break;
    require(behind.empty(), "an unfinished body uses all there is");
  }
  out.done = reader.done();
  out.broken = reader.broken();
  return out;
}

// Of the trailer lines those that are on the list, which cannot admit a length.
std::string listed(const std::string& trailers) {
  std::string out;
  upstream::append_trailers(out, trailers, {"x-t", "y", "content-length"});
  return out;
}

// As a request's body goes to an upstream.
void check_upload(const Decoded& body) {
  std::string wire;
  for (const std::string& piece : body.pieces) http::append_chunk(wire, piece);
  const std::string trailers = listed(body.trailers);
  http::append_last_chunk(wire, trailers);
  wire += "GET";
  for (const Cut cut : {Cut::whole, Cut::some}) {
    const Decoded again = decode(wire, cut, {BodyKind::chunked, 0});
    require(again.done && again.bytes == body.bytes, "the upstream reads another body");
    require(again.consumed == wire.size() - 3, "the upstream sees another end");
    require(again.trailers == trailers, "the upstream reads other trailers");
    require(listed(again.trailers) == trailers, "what is on the list stays on it");
  }
}

// As a response's body goes to a client of HTTP/1.1 or 1.0.
void check_download(const Decoded& body, int version_minor) {
  http::ResponseWriter writer;
  writer.begin({http::Method::get, version_minor});
  writer.start(200, "OK", "", {BodyKind::chunked, 0}, http::ResponseWriter::Persistence::keep_alive);
  for (const std::string& piece : body.pieces) writer.append(piece);
  const std::string trailers = listed(body.trailers);
  writer.finish(trailers);
  const std::string wire(writer.pending());
  http::ResponseParser parser;
  http::ResponseHead head;
  require(parser.parse(wire, http::Method::get, head) == http::ResponseParser::State::complete,
          "no response");
  const Decoded again = decode(std::string_view(wire).substr(parser.head_end()), Cut::some, head.framing);
  require(again.bytes == body.bytes, "the client reads another body");
  require(again.done == (version_minor == 1), "the client sees the end of the chunks");
  require(again.trailers == (version_minor == 1 ? trailers : std::string()),
          "the client reads other trailers");
  require(writer.body_bytes() == body.bytes.size(), "the body is counted");
}

// Frames of a tunnel: where one ends does not depend on the cut either.
void check_frames(std::string_view wire) {
  http::FrameBoundary whole;
  http::FrameBoundary cut_up;
  whole.pass(wire);
  std::size_t begin = 0;
  for (const std::size_t end : ends_of_pieces(wire, Cut::some)) {
    cut_up.pass(wire.substr(begin, end - begin));
    begin = end;
  }
  require(whole.reached() == cut_up.reached(), "a frame's end depends on the cut");
}

void run(std::string_view wire) {
  const Decoded whole = decode(wire, Cut::whole, {BodyKind::chunked, 0});
  for (const Cut cut : {Cut::single_bytes, Cut::some}) {
    const Decoded cut_up = decode(wire, cut, {BodyKind::chunked, 0});
    require(cut_up.done == whole.done && cut_up.broken == whole.broken, "the outcome depends on the cut");
    if (whole.broken) continue;
    require(cut_up.bytes == whole.bytes, "the body depends on the cut");
    require(cut_up.consumed == whole.consumed, "the end depends on the cut");
    require(!whole.done || cut_up.trailers == whole.trailers, "the trailers depend on the cut");
    if (!whole.done) continue;
    check_upload(cut_up);
    check_download(cut_up, 1);
    check_download(cut_up, 0);
  }
  const std::uint64_t length = stable_hash(wire) % (wire.size() + 2);
  const Decoded counted = decode(wire, Cut::some, {BodyKind::length, length});
  require(counted.done == (length <= wire.size()), "a counted body ends at its length");
  require(counted.bytes == wire.substr(0, static_cast<std::size_t>(length)), "a counted body is as sent");
  check_frames(wire);
}

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::fuzz::run(weir::fuzz::text_of(data, size));
  return 0;
}
