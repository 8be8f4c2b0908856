// SPDX-License-Identifier: Apache-2.0
// The admin listener: a small HTTP/1.1 server on a thread of its own, apart from the data path (routes.hpp
// says what it answers), plain or over TLS. Bounds: 64 connections, 8 KiB of head, as much of body, 10 s for
// a request to come or an answer to go, 60 s idle. Bad input is answered with 400 or closed; nothing it
// receives ends the process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "admin/admin_source.hpp"
#include "net/tls_context.hpp"

namespace weir::admin {

struct AdminOptions {
  std::string host = "127.0.0.1";                              // a literal address
  std::uint16_t port = 9901;                                   // 0: any free one
  std::string token;                                           // "": none needed
  std::shared_ptr<const net::TlsServerContext> tls = nullptr;  // null: plain HTTP
};

class AdminServer {
 public:
  // Listens and serves from now on. Throws boost::system::system_error if the port cannot be had.
  AdminServer(AdminOptions options, AdminSource source);
  ~AdminServer();  // stop()
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  std::uint16_t port() const noexcept { return port_; }

  // Other certificates, and authorities of clients, from the next connection on. Any thread. What the clients
  // have to do stays as it was: `tls` is left alone where it demands something else.
  void renew(std::shared_ptr<const net::TlsServerContext> tls);

  // Closes everything and joins the thread. Not from the admin thread; again is fine.
  void stop();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;  // null once stopped
  std::uint16_t port_ = 0;
};

}  // namespace weir::admin
