// SPDX-License-Identifier: Apache-2.0
// What an upstream sends: the same head at every cut, and what is accepted reaches the client as exactly one
// response whose body is delimited as the gateway thinks it is (no response smuggling).
#include "fuzz/fuzzing.hpp"
#include "http/response_parser.hpp"
#include "http/response_writer.hpp"
#include "upstream/message_heads.hpp"

namespace weir::fuzz {
namespace {

using http::BodyKind;
using http::Method;
using http::ResponseHead;
using State = http::ResponseParser::State;

struct Parsed {
  State state = State::incomplete;
  std::size_t head_end = 0;
  ResponseHead head;
};

Parsed parse(std::string_view bytes, Cut cut, Method method, std::string& kept) {
  Parsed out;
  http::ResponseParser parser;
  for (const std::size_t end : ends_of_pieces(bytes, cut)) {
    kept = std::string(bytes.substr(0, end));
    out.state = parser.parse(kept, method, out.head);
    if (out.state != State::incomplete) break;
  }
  if (out.state == State::complete) out.head_end = parser.head_end();
  return out;
}

void check_cuts(std::string_view bytes, Method method, const Parsed& whole) {
  for (const Cut cut : {Cut::single_bytes, Cut::some}) {
    std::string kept;
    const Parsed cut_up = parse(bytes, cut, method, kept);
    require(cut_up.state == whole.state, "the state depends on the cut");
    require(cut_up.head_end == whole.head_end, "the head's end depends on the cut");
    if (whole.state != State::complete) continue;
    require(cut_up.head.status == whole.head.status, "the status depends on the cut");
    require(cut_up.head.framing.kind == whole.head.framing.kind, "the framing depends on the cut");
    require(cut_up.head.framing.length == whole.head.framing.length, "the length depends on the cut");
    require(cut_up.head.bodiless == whole.head.bodiless, "whether a body comes depends on the cut");
    require(cut_up.head.fields.size() == whole.head.fields.size(), "the fields depend on the cut");
  }
}

void check_final(const ResponseHead& head, Method method, int version_minor) {
  std::string fields;
  upstream::append_response_fields(fields, head, {}, 0);
  http::ResponseWriter writer;
  writer.begin({method, version_minor});
  const auto kept_open = writer.start(head.status, head.reason, fields, head.framing,
                                      http::ResponseWriter::Persistence::keep_alive);
  const std::string written(writer.pending());
  std::string kept;
  const Parsed second = parse(written, Cut::whole, method, kept);
  require(second.state == State::complete || written.size() > http::ResponseParser::kHeaderBytes ||
              head.fields.size() + 8 > http::ResponseParser::kHeaderCount,
          "what the client gets is no response");
  if (second.state != State::complete) return;
  require(second.head_end == written.size(), "what the client gets is not exactly one head");
  require(second.head.status == head.status, "the status changed on its way");
  require(second.head.bodiless == head.bodiless, "whether a body comes changed on its way");
  if (head.bodiless) return;
  if (head.framing.kind == BodyKind::length) {
    require(second.head.framing.kind == BodyKind::length, "the length was lost");
    require(second.head.framing.length == head.framing.length, "the length changed on its way");
  } else if (version_minor == 1) {
    require(second.head.framing.kind == BodyKind::chunked, "a body of unknown length comes in chunks");
  } else {
    require(second.head.framing.kind == BodyKind::until_close, "HTTP/1.0 gets no chunks");
    require(kept_open == http::ResponseWriter::Persistence::close, "a body until close ends the connection");
  }
}

void check_interim(const ResponseHead& head) {
  std::string written;
  upstream::append_interim_head(written, head);
  std::string kept;
  const Parsed second = parse(written, Cut::whole, Method::get, kept);
  require(second.state == State::complete, "an interim response is a response");
  require(second.head_end == written.size(), "an interim response is exactly one head");
  require(second.head.status == head.status, "the status changed on its way");
}

void run(std::string_view bytes) {
  if (bytes.empty()) return;
  const Method method = (bytes[0] & 1) != 0 ? Method::head : Method::get;
  const int version_minor = (bytes[0] & 2) != 0 ? 0 : 1;
  bytes.remove_prefix(1);
  std::string kept;
  const Parsed whole = parse(bytes, Cut::whole, method, kept);
  check_cuts(bytes, method, whole);
  if (whole.state != State::complete) return;
  require(whole.head_end <= bytes.size(), "the head ends within the bytes");
  require(whole.head.status >= 100 && whole.head.status < 1000, "a status has three digits");
  if (whole.head.status >= 200) check_final(whole.head, method, version_minor);
  if (whole.head.status < 200 && whole.head.status != 101) check_interim(whole.head);
}

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::fuzz::run(weir::fuzz::text_of(data, size));
  return 0;
}
