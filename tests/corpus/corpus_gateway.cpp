// SPDX-License-Identifier: Apache-2.0
// The data path alone as a process: every request goes to one upstream, no limiter. For the corpus runner,
// for counting system calls, and for measuring. usage: corpus_gateway LISTEN_PORT UPSTREAM_PORT
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "http/server.hpp"
#include "upstream/forwarders.hpp"
#include "weir/base/clock.hpp"

namespace {

using namespace weir;

// What the pipeline does around the forwarder, as far as the corpus looks at it.
class ForwardingHandler final : public http::Handler {
 public:
  explicit ForwardingHandler(upstream::Forwarders& forwarders) : forwarders_(forwarders) {}

  boost::asio::awaitable<void> handle(http::Exchange& exchange) override {
    const http::RequestHead& head = exchange.request();
    std::string target(head.target.starts_with('/') ? head.target : head.path);
    if (!head.target.starts_with('/') && !head.query.empty()) target.append("?").append(head.query);
    const std::string address = exchange.peer_address().to_string();
    std::string fields = "X-Forwarded-For: " + address + "\r\nX-Forwarded-Proto: http\r\n";
    if (!head.authority.empty()) fields.append("X-Forwarded-Host: ").append(head.authority).append("\r\n");
    fields.append("X-Request-Id: 00000000-0000-7000-8000-000000000000\r\n");

    upstream::ForwardPlan plan;
    plan.request_target = target;
    plan.request_fields = fields;
    plan.remove_request_fields = &kAsserted;
    upstream::Forwarder* forwarder = forwarders_.find("default");
    (void)co_await forwarder->forward(exchange, plan);
  }

  void refused(int, std::string_view) noexcept override {}

 private:
  inline static const http::FieldNames kAsserted{"forwarded",        "x-forwarded-for",  "x-forwarded-proto",
                                                 "x-forwarded-host", "x-forwarded-port", "x-real-ip",
                                                 "x-request-id"};
  upstream::Forwarders& forwarders_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: corpus_gateway LISTEN_PORT UPSTREAM_PORT\n");
    return 2;
  }
  boost::asio::io_context io(1);
  net::EventLoop loop(io, system_clock());
  upstream::Forwarders forwarders(loop);
  upstream::ClusterOptions cluster;
  cluster.name = "default";
  cluster.endpoints.push_back({"127.0.0.1", static_cast<std::uint16_t>(std::atoi(argv[2]))});
  forwarders.update({cluster});
  ForwardingHandler handler(forwarders);
  http::Server server(loop, handler, std::make_shared<http::ConnectionBudget>(),
                      std::make_shared<const http::ServerOptions>());
  const auto port = server.listen("127.0.0.1", static_cast<std::uint16_t>(std::atoi(argv[1])));
  if (!port) {
    std::fprintf(stderr, "corpus_gateway: cannot listen: %s\n", port.error().message().c_str());
    return 2;
  }
  boost::asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code&, int) {
    server.stop();
    forwarders.stop();
    loop.stop();
  });
  io.run();
  return 0;
}
