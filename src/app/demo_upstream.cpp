// SPDX-License-Identifier: Apache-2.0
// `weir demo-upstream`: something to proxy to, so that a first try needs nothing else. Answers every request
// with 200 and a line of JSON; built from the gateway's own HTTP server.
#include <boost/asio/signal_set.hpp>
#include <charconv>
#include <iostream>

#include "app/address.hpp"
#include "app/command_line.hpp"
#include "http/server.hpp"
#include "net/event_loop.hpp"
#include "pipeline/text.hpp"
#include "weir/base/clock.hpp"

namespace weir::app {
namespace {

class EchoHandler final : public http::Handler {
 public:
  boost::asio::awaitable<void> handle(http::Exchange& exchange) override {
    while (!exchange.body_complete()) {
      const auto chunk = co_await exchange.read_body();
      if (!chunk) co_return exchange.abort();
    }
    const http::Field* id = exchange.request().find("X-Request-Id");
    std::string body = "{\"upstream\":\"demo\",\"method\":";
    pipeline::append_json_string(body, exchange.request().method_text);
    body += ",\"target\":";
    pipeline::append_json_string(body, exchange.request().target);
    body += ",\"request_id\":";
    pipeline::append_json_string(body, id != nullptr ? id->value : std::string_view());
    body += ",\"body_bytes\":";
    append(body, exchange.bytes_received());
    body += "}\n";
    http::LocalReply reply;
    reply.status = 200;
    reply.content_type = "application/json";
    reply.body = body;
    co_await exchange.reply(reply);
  }
  void refused(int, std::string_view) noexcept override {}
};

}  // namespace

int demo_upstream_command(const std::vector<std::string>& arguments) {
  const Arguments parsed(arguments, {{"listen", 'l', true}, {"help", 'h', false}});
  if (parsed.has("help")) {
    std::cout
        << "weir demo-upstream [--listen 127.0.0.1:9000]\n  Answers every request with a line of JSON.\n";
    return kGood;
  }
  const pipeline::Listener at = parse_listener(parsed.value("listen", "127.0.0.1:9000"));
  boost::asio::io_context io(1);
  net::EventLoop loop(io, system_clock());
  EchoHandler handler;
  http::Server server(loop, handler, std::make_shared<http::ConnectionBudget>(),
                      std::make_shared<const http::ServerOptions>());
  const auto port = server.listen(at.host, at.port);
  if (!port) {
    std::cerr << "weir: cannot listen on " << at.host << ':' << at.port << ": " << port.error().message()
              << '\n';
    return kCouldNotRun;
  }
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](const error_code&, int) {
    server.stop();
    loop.stop();
  });
  io.run();
  return kGood;
}

}  // namespace weir::app
