// SPDX-License-Identifier: Apache-2.0
// The commands' way to a running gateway's admin port: where it is, how to prove who asks, and one request at
// a time, plain or over TLS. Blocks, for at most two seconds a request.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.hpp"
#include "net/tls_context.hpp"
#include "pipeline/runtime.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

class AdminClient {
 public:
  // The options that all these commands take, in front of `own`; and what their help says of them.
  static std::vector<Arguments::Option> options(std::vector<Arguments::Option> own);
  static constexpr std::string_view kHelp =
      "  -a, --admin ADDRESS     of the gateway (default 127.0.0.1:9901); https://ADDRESS where it speaks "
      "TLS\n"
      "      --token-file FILE   its first line is the admin port's token\n"
      "      --ca FILE           TLS; PEM of the authorities to believe (default: the system's)\n"
      "      --cert FILE         TLS; PEM of the certificate to show (client_ca), with --key FILE\n"
      "      --server-name NAME  TLS; what the gateway's certificate is for, if not the host of ADDRESS\n";

  // Throws UsageError: an option that cannot be read.
  explicit AdminClient(const Arguments& parsed);

  struct Answer {
    int status = 0;
    std::string body;
  };
  // GET `path`. Errors: the connection's or TLS's; timed_out.
  Result<Answer> get(std::string_view path) const;

  const std::string& place() const noexcept { return place_; }  // "127.0.0.1:9901", for messages

 private:
  pipeline::Listener at_;
  std::string place_;
  std::string token_;
  std::shared_ptr<const net::TlsClientContext> tls_;  // null: plain
};

}  // namespace weir::app
