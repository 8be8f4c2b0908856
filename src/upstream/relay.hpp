// SPDX-License-Identifier: Apache-2.0
// Relays one exchange over one upstream connection, both ways at once: one coroutine that looks at each side
// in turn, moves what can be moved, and waits for whatever is missing. It never reads from one side while the
// other does not take (bounded memory), and passes an answer on that comes before the request's body is done.
// Pooled per worker, with its buffers.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/body_reader.hpp"
#include "http/response_parser.hpp"
#include "net/stream.hpp"
#include "upstream/message_heads.hpp"
#include "weir/http/exchange.hpp"
#include "weir/upstream/cluster.hpp"

namespace weir::upstream {

class Relay {
 public:
  static constexpr int kMaxInterim = 64;  // interim responses of one answer; more is a bad response
  static constexpr std::size_t kKeptBytes = 128 * 1024;  // larger buffers are not kept

  explicit Relay(net::EventLoop& loop);

  // Takes over an exchange: builds the request's first bytes (head, and the body that has arrived) and
  // watches the client. All arguments outlive end().
  void begin(http::Exchange& exchange, const ForwardPlan& plan, const ClusterOptions& options,
             std::string_view fallback_host);
  void end() noexcept;

  // The stream that waits for this relay's upstream are made on: canceled when the client leaves.
  void use(net::Stream* stream) noexcept { stream_ = stream; }

  // A wait of this relay's that is not on the stream, canceled likewise; nullptr when it is over.
  void use_waiter(net::Waiter* waiter) noexcept { waiter_ = waiter; }
  // Asked about a final status before anything of the answer is passed on: true ends the attempt with
  // `unwanted_status`. Only where may_repeat().
  struct StatusJudge {
    bool (*call)(void* context, int status) = nullptr;
    void* context = nullptr;
  };
  void judge_status(StatusJudge judge) noexcept { judge_ = judge; }

  // Sends the request and passes the answer on, to its end. `none`: the client has the whole answer.
  boost::asio::awaitable<ForwardError> run();
  // The deadline for a wait of `limit` from now, cut by the cluster's total time. 0: none.
  std::int64_t deadline(std::chrono::milliseconds limit) const noexcept;
  // What a canceled wait means.
  ForwardError why_canceled() const noexcept;
  void cancel();  // the gateway stops

  // After an attempt failed before anything of its answer was passed on: may the same bytes be sent again?
  // They may if none left, or if all that was consumed of the request is still here and its method is
  // idempotent.
  bool may_repeat() const noexcept;
  void rewind() noexcept;
  bool is_idempotent() const noexcept;

  // After `none`: the connection can serve another request.
  bool connection_is_clean() const noexcept;

  bool canceled() const noexcept { return canceled_; }
  bool answered() const noexcept { return answered_; }  // a byte of the answer came
  bool in_tunnel() const noexcept { return switched_; }
  ForwardError error() const noexcept { return error_; }
  const error_code& body_error() const noexcept { return body_error_; }
  int upstream_status() const noexcept { return head_done_ ? head_.status : 0; }
  const Cost& cost() const noexcept { return cost_; }
  std::int64_t response_us() const noexcept { return response_us_; }

 private:
  enum class Step : std::uint8_t { flush, interim, body, upstream, tunnel, finished };

  Step next_step();
  bool read_response();
  void take_response_bytes(char* data, std::size_t size);
  void take_interim();
  void take_head();
  void start_response();
  void switch_protocols();
  void on_tunnel_end(http::Ending ending) noexcept;
  void take_body(char* data, std::size_t size);
  void on_upstream_end(bool clean) noexcept;
  void write_request();
  void on_body_piece(const Result<std::string_view>& piece);
  void on_wake(net::Wake wake) noexcept;
  void fail(ForwardError error) noexcept;
  std::int64_t upstream_deadline() const noexcept;
  bool request_is_sent() const noexcept { return upload_done_ && out_sent_ == out_.size(); }
  void on_client_gone();
  void on_total_timer();

  net::EventLoop& loop_;
  http::Exchange* exchange_ = nullptr;
  const ForwardPlan* plan_ = nullptr;
  const ClusterOptions* options_ = nullptr;
  net::Stream* stream_ = nullptr;
  net::Waiter* waiter_ = nullptr;
  StatusJudge judge_;
  net::Timer total_timer_;

  std::string out_;  // to the upstream
  std::size_t out_sent_ = 0;
  std::string partial_;  // of a response head that came in pieces
  std::string interim_;
  std::string fields_;
  std::string trailers_;      // of the answer, as they came
  std::string_view upgrade_;  // the protocol that was asked for, "" if none
  http::ResponseParser parser_;
  http::ResponseHead head_;
  http::BodyReader body_;
  Cost cost_;
  error_code body_error_;
  std::int64_t sent_us_ = 0;
  std::int64_t sent_ms_ = 0;
  std::int64_t response_us_ = 0;
  int interims_ = 0;
  int moves_in_turn_ = 0;
  ForwardError error_ = ForwardError::none;
  bool replayable_ = true;  // out_ holds everything consumed of the request
  bool wrote_ = false;      // a byte left
  bool answered_ = false;   // a response byte came
  bool head_done_ = false;
  bool switched_ = false;  // by a 101: what follows is not HTTP
  bool response_done_ = false;
  bool upload_done_ = false;     // the request's last byte is in out_, or sent
  bool upload_stopped_ = false;  // the upstream takes no more
  bool stray_bytes_ = false;
  bool unparsed_ = false;  // partial_ may hold a whole head
  bool canceled_ = false;
  bool timed_out_ = false;
};

}  // namespace weir::upstream
