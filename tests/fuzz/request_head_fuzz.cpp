// SPDX-License-Identifier: Apache-2.0
// What a client sends: the same head must come out of every cut of the bytes, and what is accepted must still
// be one head with the same meaning after it was written anew for an upstream.
#include "fuzz/fuzzing.hpp"
#include "http/request_parser.hpp"
#include "upstream/message_heads.hpp"

namespace weir::fuzz {
namespace {

using http::RequestHead;
using State = http::RequestParser::State;

struct Parsed {
  State state = State::incomplete;
  http::Refusal refusal;
  std::size_t head_end = 0;
  RequestHead head;
};

// Each piece is a buffer of its own size, so that a look beyond it is noticed.
Parsed parse(std::string_view bytes, Cut cut, const http::ServerOptions& options, std::string& kept) {
  Parsed out;
  http::RequestParser parser;
  for (const std::size_t end : ends_of_pieces(bytes, cut)) {
    kept = std::string(bytes.substr(0, end));
    out.state = parser.parse(kept, options, out.head);
    if (out.state != State::incomplete) break;
  }
  if (out.state == State::complete) out.head_end = parser.head_end();
  if (out.state == State::refused) out.refusal = parser.refusal();
  return out;
}

bool same_fields(const RequestHead& a, const RequestHead& b) {
  if (a.fields.size() != b.fields.size()) return false;
  for (std::size_t n = 0; n < a.fields.size(); ++n) {
    if (a.fields[n].name != b.fields[n].name || a.fields[n].value != b.fields[n].value) return false;
  }
  return true;
}

bool same_meaning(const RequestHead& a, const RequestHead& b) {
  return a.method == b.method && a.method_text == b.method_text && a.path == b.path && a.query == b.query &&
         a.authority == b.authority && a.framing.kind == b.framing.kind &&
         a.framing.length == b.framing.length;
}

bool is_about_size(int status) {
  return status == 414 || status == 431;
}

// Of several faults the one that is seen first counts: a size is judged by what has come so far.
bool same_refusal(int a, int b) {
  return a == b || is_about_size(a) || is_about_size(b);
}

void check_cuts(std::string_view bytes, const http::ServerOptions& options, const Parsed& whole) {
  for (const Cut cut : {Cut::single_bytes, Cut::some}) {
    std::string kept;
    const Parsed cut_up = parse(bytes, cut, options, kept);
    require(cut_up.state == whole.state, "the state depends on the cut");
    require(same_refusal(cut_up.refusal.status, whole.refusal.status), "the refusal depends on the cut");
    require(cut_up.head_end == whole.head_end, "the head's end depends on the cut");
    if (whole.state != State::complete) continue;
    require(same_meaning(cut_up.head, whole.head), "the head depends on the cut");
    require(same_fields(cut_up.head, whole.head), "the fields depend on the cut");
  }
}

void check_written(const RequestHead& head) {
  upstream::ForwardPlan plan;
  plan.request_target = head.target.starts_with('/') || head.target == "*" ? head.target : head.path;
  if (plan.request_target.empty()) plan.request_target = "/";
  http::ServerOptions roomy;
  roomy.header_count = 200;
  std::string written;
  upstream::append_request_head(written, head, plan, {"fallback.test", ""});
  std::string kept;
  const Parsed second = parse(written, Cut::whole, roomy, kept);
  require(second.state == State::complete || second.refusal.status == 431, "what is forwarded is refused");
  if (second.state != State::complete) return;
  require(second.head_end == written.size(), "what is forwarded is not exactly one head");
  require(second.head.method_text == head.method_text, "the method changed on its way");
  require(second.head.framing.kind == head.framing.kind && second.head.framing.length == head.framing.length,
          "the framing changed on its way");
  require(second.head.target == plan.request_target, "the target changed on its way");
  require(second.head.authority == (head.authority.empty() ? "fallback.test" : head.authority),
          "the authority changed on its way");
}

void run(std::string_view bytes) {
  http::ServerOptions options;
  if (bytes.size() > 4096) options.header_bytes = 4096;
  options.header_count = 64;
  options.target_bytes = 1024;
  std::string kept;
  const Parsed whole = parse(bytes, Cut::whole, options, kept);
  check_cuts(bytes, options, whole);
  if (whole.state == State::refused) {
    require(whole.refusal.status >= 400 && whole.refusal.status < 600, "a refusal has an error status");
    require(!whole.refusal.reason.empty(), "a refusal has a reason");
  }
  if (whole.state != State::complete) return;
  require(whole.head_end <= bytes.size(), "the head ends within the bytes");
  require(whole.head.fields.size() <= options.header_count, "no more fields than allowed");
  check_written(whole.head);
}

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::fuzz::run(weir::fuzz::text_of(data, size));
  return 0;
}
