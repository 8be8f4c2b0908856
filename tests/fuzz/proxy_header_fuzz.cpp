// SPDX-License-Identifier: Apache-2.0
// The PROXY header in front of a connection: once judged, more bytes change nothing; malformed is final.
#include "fuzz/fuzzing.hpp"
#include "net/proxy_header.hpp"

namespace weir::fuzz {
namespace {

using net::ProxyHeader;
using State = ProxyHeader::State;

bool same(const ProxyHeader& a, const ProxyHeader& b) {
  return a.state == b.state && a.source == b.source && a.size == b.size &&
         a.client.address == b.client.address && a.client.port == b.client.port;
}

void run(std::string_view bytes) {
  ProxyHeader first;
  std::size_t judged_at = 0;
  for (std::size_t end = 0; end <= bytes.size() && first.state == State::incomplete; ++end) {
    const std::string kept(bytes.substr(0, end));
    first = net::parse_proxy_header(kept);
    judged_at = end;
  }
  const std::string all(bytes);
  const ProxyHeader whole = net::parse_proxy_header(all);
  require(whole.state == first.state, "the outcome depends on the cut");
  if (first.state == State::incomplete) {
    require(bytes.size() < ProxyHeader::kMaxBytes, "no header is waited for for ever");
    return;
  }
  if (first.state == State::malformed) return;
  require(same(whole, first), "what is told depends on the cut");
  require(first.size > 0 && first.size <= ProxyHeader::kMaxBytes, "a header has its bounds");
  require(first.size == judged_at, "a header is complete with its last byte");
  const ProxyHeader alone = net::parse_proxy_header(std::string(bytes.substr(0, first.size)));
  require(same(alone, first), "what follows a header is not looked at");
}

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::fuzz::run(weir::fuzz::text_of(data, size));
  return 0;
}
