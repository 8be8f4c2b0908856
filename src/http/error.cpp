// SPDX-License-Identifier: Apache-2.0
#include "weir/http/error.hpp"

#include <string>

namespace weir::http {
namespace {

class Category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "weir.http"; }
  std::string message(int value) const override {
    switch (static_cast<Error>(value)) {
      case Error::client_gone:
        return "the client is gone";
      case Error::malformed_head:
        return "malformed message head";
      case Error::malformed_body:
        return "malformed or incomplete body";
      case Error::body_too_large:
        return "body too large";
      case Error::body_timeout:
        return "no body byte in time";
      case Error::write_timeout:
        return "the peer takes no bytes";
      case Error::total_timeout:
        return "the exchange took too long";
      case Error::interrupted:
        return "interrupted";
      case Error::exchange_ended:
        return "the exchange has ended";
    }
    return "unknown";
  }
};

}  // namespace

boost::system::error_code make_error_code(Error error) noexcept {
  static const Category category;
  return {static_cast<int>(error), category};
}

int status_of_body_error(const boost::system::error_code& error) noexcept {
  if (error == Error::malformed_body) return 400;
  if (error == Error::body_too_large) return 413;
  if (error == Error::body_timeout || error == Error::total_timeout) return 408;
  return 0;
}

}  // namespace weir::http
