// SPDX-License-Identifier: Apache-2.0
// The answer's way through a relay: head, interim responses, body, and the switch to a tunnel.
#include "base/stopwatch.hpp"
#include "upstream/relay.hpp"
#include "upstream/trailers.hpp"
#include "upstream/upgrade.hpp"

namespace weir::upstream {

// One read. False if nothing was there.
bool Relay::read_response() {
  const auto got = stream_->try_read(loop_.scratch());
  if (!got && net::would_block(got.error())) return false;
  if (!got || *got == 0) {
    on_upstream_end(got.has_value());
    return true;
  }
  answered_ = true;
  take_response_bytes(loop_.scratch().data(), *got);
  return true;
}

void Relay::on_upstream_end(bool clean) noexcept {
  if (head_done_ && clean && body_.end()) {
    response_done_ = true;
    exchange_->finish_body();
    return;
  }
  fail(ForwardError::reset);
}

void Relay::take_response_bytes(char* data, std::size_t size) {
  if (head_done_) return take_body(data, size);
  if (!partial_.empty()) {
    partial_.append(data, size);
    data = partial_.data();
    size = partial_.size();
  }
  std::size_t used = 0;
  while (interim_.empty() && !switched_ && error_ == ForwardError::none) {
    const auto state = parser_.parse({data + used, size - used}, exchange_->request().method, head_);
    if (state == http::ResponseParser::State::refused) return fail(ForwardError::bad_response);
    if (state == http::ResponseParser::State::incomplete) break;
    used += parser_.head_end();
    parser_.reset();
    if (head_.status >= 200) {
      if (judge_.call != nullptr && may_repeat() && judge_.call(judge_.context, head_.status)) {
        return fail(ForwardError::unwanted_status);
      }
      start_response();
      return take_body(data + used, size - used);
    }
    take_interim();
  }
  // A head in pieces, what follows an interim response that has to be passed on first, or a tunnel's bytes.
  unparsed_ = !interim_.empty() && used < size;
  partial_ = std::string(data + used, size - used);
}

// 100 was answered by the gateway already.
void Relay::take_interim() {
  if (head_.status == 101) return switch_protocols();
  if (++interims_ > kMaxInterim) return fail(ForwardError::bad_response);
  if (head_.status != 100) append_interim_head(interim_, head_);
}

// Until an upstream says yes to what the client asked for, every byte is HTTP.
void Relay::switch_protocols() {
  if (!request_is_sent() || !accepts_upgrade(head_, upgrade_)) return fail(ForwardError::bad_response);
  take_head();
  append_upgrade(fields_, upgrade_);
  switched_ = true;
}

// What became of a tunnel is the upstream's fault only if its connection broke.
void Relay::on_tunnel_end(http::Ending ending) noexcept {
  if (ending == http::Ending::upstream_failed) fail(ForwardError::reset);
  if (ending == http::Ending::client_gone) fail(ForwardError::client_gone);
}

void Relay::take_head() {
  head_done_ = true;
  if (sent_us_ != 0) response_us_ = monotonic_us() - sent_us_;
  cost_ = append_response_fields(fields_, head_, *plan_, loop_.wall_ms());
}

void Relay::start_response() {
  take_head();
  http::Framing framing = head_.framing;
  body_ = http::BodyReader(head_.bodiless ? http::Framing() : framing);
  trailers_.clear();
  body_.collect_trailers(&trailers_);
  exchange_->start_response(head_.status, head_.reason, fields_, framing);
  // A refusal, or an upstream about to hang up, wants no more of the body.
  if (!upload_done_ && (head_.status >= 300 || !head_.keep_alive)) upload_stopped_ = true;
}

void Relay::take_body(char* data, std::size_t size) {
  const http::BodyReader::Piece piece = body_.feed(data, size);
  if (body_.broken()) return fail(ForwardError::bad_response);
  exchange_->lend_body(piece.bytes);
  if (!body_.done()) return;
  stray_bytes_ = piece.consumed < size;
  response_done_ = true;
  if (trailers_.empty()) return exchange_->finish_body();
  std::string listed;
  append_trailers(listed, trailers_, options_->trailers);
  exchange_->finish_body(listed);
}

}  // namespace weir::upstream
