// SPDX-License-Identifier: Apache-2.0
// What can break on an HTTP connection, as error codes.
#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/is_error_code_enum.hpp>

namespace weir::http {

enum class Error {
  client_gone = 1,  // the client closed or reset the connection
  malformed_head,   // a message head broke a rule
  malformed_body,   // chunked coding broken, or the connection ended inside a body
  body_too_large,   // above ServerOptions::body_bytes
  body_timeout,     // no body byte for too long
  write_timeout,    // the peer took no byte for too long
  total_timeout,    // the whole exchange took too long
  interrupted,      // read_body() was interrupted by interrupt_body(); it may be called again
  exchange_ended,   // the exchange was aborted or has its answer already
};

boost::system::error_code make_error_code(Error error) noexcept;

// The status that answers a broken request body: 400, 408 or 413; 0 if nobody is there to be answered.
int status_of_body_error(const boost::system::error_code& error) noexcept;

}  // namespace weir::http

template <>
struct boost::system::is_error_code_enum<weir::http::Error> : std::true_type {};
