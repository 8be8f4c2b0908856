// SPDX-License-Identifier: Apache-2.0
// Turns a request head into an Identity (spec ID-1 to ID-6). Never waits, safe from every worker at once.
// Immutable but for the memory of tokens that were verified.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "identity/auth_fault.hpp"
#include "weir/http/message.hpp"
#include "weir/identity/identity.hpp"
#include "weir/identity/options.hpp"

namespace weir::net {
struct TlsPeer;
}

namespace weir::identity {

struct ExtractionTables;

// Memory for derived strings of one request (normal path, address keys). Reused; never shrinks.
class Scratch {
 public:
  virtual ~Scratch() = default;
  virtual std::string_view keep(std::string_view text) = 0;
};

enum class Refusal : std::uint8_t {
  none,
  bad_path,          // 400: %2F, %00, above the root, malformed escape
  missing_identity,  // the dimension's reject_status
  unauthenticated,   // 401: no credential where one is required, or one that is not good
};

struct Extraction {
  Identity identity;
  Refusal refusal = Refusal::none;
  int refusal_status = 0;
  std::string_view refusal_reason;       // short text for the client, names the dimension, no client data
  std::string_view challenge;            // of unauthenticated: the value of WWW-Authenticate
  Dimension missing_dimension = 0;       // of missing_identity
  std::uint32_t missing = 0;             // bit d: dimension d was missing (anonymous, ip or reject): counted
  std::string_view normal_path;          // ID-4
  boost::asio::ip::address client;       // after trusted proxies
  bool peer_trusted = false;             // the TCP peer is a trusted proxy
  Credential proved = Credential::none;  // `any`: both
  AuthFault auth_fault = AuthFault::none;  // also where the configuration lets it pass: counted
};

class Extractor {
 public:
  explicit Extractor(ExtractorOptions options);
  ~Extractor();
  Extractor(Extractor&&) noexcept;
  Extractor& operator=(Extractor&&) noexcept;

  // Who sends a request, as its connection tells.
  struct Peer {
    Peer(const boost::asio::ip::address& address_, const net::TlsPeer* certificate_ = nullptr)
        : address(address_), certificate(certificate_) {}
    const boost::asio::ip::address& address;
    const net::TlsPeer* certificate;  // verified; nullptr: none
  };

  // `out` is as new. The certificate outlives it.
  void extract(const http::RequestHead& head, const Peer& peer, Scratch& scratch, Extraction& out) const;

  // The same for what a log line keeps of a request: fills in what follows from method, normal path and
  // client address (node, api, class, ip, region, exempt by path or address). The rest is the caller's to
  // set, then to ask exempts(). `normal_path` outlives `out`.
  void place(std::string_view method, std::string_view normal_path, const boost::asio::ip::address& client,
             Scratch& scratch, Extraction& out) const;
  // Whether a caller of this name goes through the exempt lane, if no client can have forged the name.
  bool exempts(std::string_view caller) const noexcept;

  // Used by the pipeline for X-Forwarded-* and by explain.
  bool is_trusted(const boost::asio::ip::address& peer) const noexcept;
  const ExtractorOptions& options() const noexcept;
  std::string_view dimension_name(Dimension d) const noexcept;
  // One more than the highest dimension that an Identity made here can hold.
  std::size_t dimensions() const noexcept;

 private:
  std::unique_ptr<const ExtractionTables> tables_;
};

}  // namespace weir::identity
