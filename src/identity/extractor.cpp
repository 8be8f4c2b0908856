// SPDX-License-Identifier: Apache-2.0
#include "identity/extractor.hpp"

#include <algorithm>

#include "base/string_map.hpp"
#include "identity/addresses.hpp"
#include "identity/api_keys.hpp"
#include "identity/authentication.hpp"
#include "identity/client_address.hpp"
#include "identity/path_normal.hpp"
#include "identity/path_table.hpp"
#include "identity/sources.hpp"

namespace weir::identity {
namespace {

// The api, and the class, of what no template of its own matches.
constexpr std::string_view kOther = "other";
constexpr std::string_view kBareRest = "/**";

std::vector<Cidr> blocks_of(const std::vector<RegionEntry>& regions) {
  std::vector<Cidr> blocks;
  for (const RegionEntry& region : regions) blocks.push_back(region.block);
  return blocks;
}

}  // namespace

struct Extractor::Compiled {
  explicit Compiled(ExtractorOptions given);

  ExtractorOptions options;
  CidrTable trusted;
  CidrTable regions;
  CidrTable exempt_blocks;
  ApiKeyTable keys;
  Authenticator authenticator;
  std::vector<std::string> key_headers;  // every header that an API key is read from
  PathTable apis;
  PathTable exempt_paths;
  std::vector<PathTable> classes;
  StringMap<bool> exempt_callers;
  std::vector<SoughtDimension> sought;  // refers to `options`
  std::array<std::string, kMaxDimensions> names;
  std::array<std::string, kMaxDimensions> missing_reasons;
  std::size_t dimensions = dimension::kFirstDeclared;
  bool has_class = false;  // classes are configured, or a layer counts by class

  class Pass;
};

Extractor::Compiled::Compiled(ExtractorOptions given)
    : options(std::move(given)),
      trusted(options.trusted_proxies),
      regions(blocks_of(options.regions)),
      exempt_blocks(options.exempt.blocks),
      keys(options.api_keys),
      authenticator(options),
      apis(options.apis, options.paths),
      exempt_paths(options.exempt.paths, options.paths),
      names{"node", "caller", "user", "api", "ip", "class", "upstream", "tier", "region", "role"},
      has_class(!options.classes.empty()) {
  for (const ApiClass& each : options.classes) classes.emplace_back(each.patterns, options.paths);
  for (const std::string& caller : options.exempt.callers) exempt_callers.emplace(caller, true);
  if (authenticator.checks_api_keys()) key_headers.push_back(options.auth.api_key_header);
  std::erase_if(options.dimensions, [](const DimensionOptions& d) { return d.index >= kMaxDimensions; });
  for (const DimensionOptions& each : options.dimensions) {
    names[each.index] = each.name;
    dimensions = std::max<std::size_t>(dimensions, each.index + 1U);
    missing_reasons[each.index] = "the " + each.name + " of this request is missing or contradictory";
    if (each.index == dimension::api_class && each.used_by_layer) has_class = true;
    if (!is_derived(each.index)) sought.push_back({each, {each.from.begin(), each.from.end()}});
    for (const Source& source : each.from) {
      const bool known = std::find(key_headers.begin(), key_headers.end(), source.name) != key_headers.end();
      if (source.kind == SourceKind::api_key && !known) key_headers.push_back(source.name);
    }
  }
}

// One request on its way through.
class Extractor::Compiled::Pass {
 public:
  Pass(const Compiled& compiled, const http::RequestHead& head, Scratch& scratch, Extraction& out)
      : compiled_(compiled), head_(head), scratch_(scratch), out_(out) {}

  void place(const Address& client) {
    out_.client = client;
    find_block();
    out_.normal_path = head_.path;
    find_api_and_class();
    out_.identity.exempt = is_exempt();
  }

  void run(const Peer& peer) {
    certificate_ = peer.certificate;
    find_client(peer.address);
    find_path();
    find_api_and_class();
    if (compiled_.authenticator.enabled() && out_.refusal == Refusal::none) check_credentials();
    if (out_.refusal == Refusal::unauthenticated) return;
    for (const SoughtDimension& each : compiled_.sought) find_dimension(each);
    out_.identity.exempt = is_exempt();
  }

 private:
  void set(Dimension d, std::string_view text) { out_.identity[d] = {text, Presence::present}; }

  void find_client(const Address& peer) {
    out_.client = plain_address(peer);
    out_.peer_trusted = compiled_.trusted.contains(out_.client);
    if (out_.peer_trusted) out_.client = client_address(head_, peer, compiled_.trusted);
    find_block();
  }

  void find_block() {
    const ExtractorOptions& given = compiled_.options;
    AddressText text;
    set(dimension::ip, scratch_.keep(address_key(out_.client, given.ipv4_prefix, given.ipv6_prefix, text)));
    const auto region = compiled_.regions.find(out_.client);
    if (region) set(dimension::region, given.regions[*region].name);
  }

  void find_path() {
    thread_local std::string buffer;
    std::string_view normal;
    const PathFault fault = normalise_path(head_.path, compiled_.options.paths, buffer, normal);
    if (fault != PathFault::none) {
      refuse(Refusal::bad_path, 400, reason_of(fault));
      return;
    }
    const bool derived = normal.data() == buffer.data();
    out_.normal_path = derived ? scratch_.keep(normal) : normal;
  }

  void find_api_and_class() {
    const ExtractorOptions& given = compiled_.options;
    set(dimension::node, given.node);
    const auto api = compiled_.apis.find(head_.method_text, out_.normal_path);
    const bool own = api && given.apis[*api].path != kBareRest;
    set(dimension::api, own ? std::string_view(given.apis[*api].text) : kOther);
    if (compiled_.has_class) set(dimension::api_class, class_of());
  }

  std::string_view class_of() const {
    std::string_view rest = kOther;
    for (std::size_t n = 0; n < compiled_.classes.size(); ++n) {
      const ApiClass& each = compiled_.options.classes[n];
      if (each.patterns.empty()) rest = each.name;
      if (compiled_.classes[n].find(head_.method_text, out_.normal_path)) return each.name;
    }
    return rest;
  }

  // Whoever presents a credential that is not good is refused even where none is required: it must never turn
  // into an anonymous request in silence.
  void check_credentials() {
    const Authenticator& door = compiled_.authenticator;
    JwtOutcome token = door.token_of(head_);
    if (token.fault != AuthFault::none) {
      fail(token.fault, Credential::jwt);
    } else if (token.claims != nullptr) {
      claims_ = std::move(token.claims);
      out_.proved = Credential::jwt;
    }
    if (door.checks_api_keys()) {
      for (const std::string& header : compiled_.key_headers) check_key(header);
    }
    const Credential required = door.required(head_.method_text, out_.normal_path);
    if (satisfies(out_.proved, required) || out_.refusal != Refusal::none) return;
    if (out_.auth_fault == AuthFault::none) out_.auth_fault = AuthFault::missing;
    refuse_credential(out_.auth_fault, failed_ == Credential::none ? required : failed_);
  }

  void check_key(std::string_view header) {
    find_key(header);
    if (key_ != nullptr) {
      out_.proved = claims_ != nullptr ? Credential::any : Credential::api_key;
    } else if (key_is_contradictory_) {
      fail(AuthFault::contradictory, Credential::api_key);
    } else if (key_is_presented_) {
      fail(AuthFault::unknown_api_key, Credential::api_key);
    }
  }

  void fail(AuthFault fault, Credential presented) {
    if (out_.auth_fault != AuthFault::none) return;
    out_.auth_fault = fault;
    failed_ = presented;
    if (compiled_.authenticator.refuses_invalid()) refuse_credential(fault, presented);
  }

  void refuse_credential(AuthFault fault, Credential asked) {
    refuse(Refusal::unauthenticated, 401, reason_of(fault));
    out_.challenge = challenge(fault, asked);
  }

  void find_dimension(const SoughtDimension& each) {
    const DimensionOptions& wanted = each.dimension;
    Reading reading;
    const Source* from = nullptr;
    for (const NamedSource& one : each.from) {
      if (one.source.trusted_only && !out_.peer_trusted) continue;
      reading = read(one, wanted.name);
      from = &one.source;
      if (reading.state != Reading::State::absent) break;
    }
    if (reading.state == Reading::State::absent) {
      // Beside the sources that name it, a known API key's entry may say what tier or role its holder has.
      from = nullptr;
      reading = read_any_key(wanted.name);
    }
    if (reading.state == Reading::State::present) {
      set(wanted.index, reading.text);
      if (wanted.index == dimension::caller) {
        caller_is_vouched_for_ = from == nullptr || is_vouched_for(*from);
      }
      return;
    }
    const bool computed = out_.identity[wanted.index].presence == Presence::present;
    if (!computed || reading.state == Reading::State::contradictory) miss(wanted);
  }

  Reading read(const NamedSource& from, std::string_view dimension_name) {
    const Source& source = from.source;
    switch (source.kind) {
      case SourceKind::header:
        return read_header(head_, from.name);
      case SourceKind::query:
        return read_kept_query(source.name);
      case SourceKind::cookie:
        return read_cookie(head_, source.name);
      case SourceKind::api_key:
        return read_key(source.name, dimension_name);
      case SourceKind::client_certificate:
        return certificate_ == nullptr ? Reading() : read_text(certificate_part(*certificate_, source.name));
      case SourceKind::jwt:
        return read_claim(source.name);
      case SourceKind::peer_address:
        return {Reading::State::present, out_.identity.text(dimension::ip)};
      case SourceKind::region:
        break;
    }
    const auto region = compiled_.regions.find(out_.client);
    if (!region) return {};
    return {Reading::State::present, compiled_.options.regions[*region].name};
  }

  Reading read_kept_query(std::string_view name) {
    thread_local std::string buffer;
    Reading reading = read_query(head_, name, buffer);
    const bool in_head = reading.text.data() >= head_.query.data() &&
                         reading.text.data() < head_.query.data() + head_.query.size();
    if (!reading.text.empty() && !in_head) reading.text = scratch_.keep(reading.text);
    return reading;
  }

  // The dimension's attribute of the key that `header` carries.
  Reading read_key(std::string_view header, std::string_view dimension_name) {
    find_key(header);
    if (key_is_contradictory_) return {Reading::State::contradictory, {}};
    const std::string_view value = key_ == nullptr ? std::string_view() : attribute(*key_, dimension_name);
    if (value.empty()) return {};
    return {Reading::State::present, value};
  }

  void find_key(std::string_view header) {
    if (header == key_header_) return;
    const Reading presented = read_header(head_, header);
    key_header_ = header;
    key_is_contradictory_ = presented.state == Reading::State::contradictory;
    key_is_presented_ = presented.state == Reading::State::present;
    key_ = key_is_presented_ ? compiled_.keys.find(presented.text) : nullptr;
  }

  // A claim of another type than text or number is no reason to ask the next source, which anyone may write.
  Reading read_claim(std::string_view name) {
    const auto* claim = claims_ == nullptr ? nullptr : compiled_.authenticator.claim(*claims_, name);
    if (claim == nullptr || claim->state == JwtClaims::State::absent) return {};
    if (claim->state == JwtClaims::State::unusable) return {Reading::State::contradictory, {}};
    Reading reading = read_text(claim->text);
    if (reading.state == Reading::State::present) reading.text = scratch_.keep(reading.text);
    return reading;
  }

  Reading read_any_key(std::string_view dimension_name) {
    for (const std::string& header : compiled_.key_headers) {
      const Reading reading = read_key(header, dimension_name);
      if (reading.state == Reading::State::present) return reading;
    }
    return {};
  }

  void miss(const DimensionOptions& wanted) {
    Value& value = out_.identity[wanted.index];
    value = Value();
    // Validation demands a policy where a layer counts by the dimension; without one the shared key is the
    // answer that limits.
    if (!wanted.missing && !wanted.used_by_layer) return;
    out_.missing |= 1U << wanted.index;
    switch (wanted.missing.value_or(Missing::anonymous)) {
      case Missing::anonymous:
        value.presence = Presence::anonymous;
        return;
      case Missing::ip:
        set(wanted.index, marked_address());
        return;
      case Missing::reject:
        break;
    }
    value.presence = Presence::anonymous;
    if (out_.refusal == Refusal::none) out_.missing_dimension = wanted.index;
    refuse(Refusal::missing_identity, wanted.reject_status, compiled_.missing_reasons[wanted.index]);
  }

  // Several dimensions may need it; one copy serves them.
  std::string_view marked_address() {
    if (marked_.empty()) {
      std::array<char, kAddressMarker.size() + std::tuple_size_v<AddressText>> text;
      const std::string_view address = out_.identity.text(dimension::ip);
      auto end = std::copy(kAddressMarker.begin(), kAddressMarker.end(), text.begin());
      end = std::copy(address.begin(), address.end(), end);
      marked_ = scratch_.keep({text.data(), static_cast<std::size_t>(end - text.begin())});
    }
    return marked_;
  }

  // The first refusal stands.
  void refuse(Refusal refusal, int status, std::string_view reason) {
    if (out_.refusal != Refusal::none) return;
    out_.refusal = refusal;
    out_.refusal_status = status;
    out_.refusal_reason = reason;
  }

  bool is_exempt() const {
    const auto& callers = compiled_.exempt_callers;
    const Value& caller = out_.identity[dimension::caller];
    if (caller_is_vouched_for_ && caller.presence == Presence::present && callers.contains(caller.text))
      return true;
    if (compiled_.exempt_blocks.contains(out_.client)) return true;
    if (compiled_.options.exempt.paths.empty() || out_.normal_path.empty()) return false;
    return compiled_.exempt_paths.find(head_.method_text, out_.normal_path).has_value();
  }

  const Compiled& compiled_;
  const http::RequestHead& head_;
  Scratch& scratch_;
  Extraction& out_;
  const net::TlsPeer* certificate_ = nullptr;
  bool caller_is_vouched_for_ = false;
  std::string_view key_header_;
  const ApiKey* key_ = nullptr;
  bool key_is_contradictory_ = false;
  bool key_is_presented_ = false;
  std::shared_ptr<const JwtClaims> claims_;
  Credential failed_ = Credential::none;  // what kind of credential auth_fault speaks of
  std::string_view marked_;
};

Extractor::Extractor(ExtractorOptions options) : compiled_(std::make_unique<Compiled>(std::move(options))) {}
Extractor::~Extractor() = default;
Extractor::Extractor(Extractor&&) noexcept = default;
Extractor& Extractor::operator=(Extractor&&) noexcept = default;

void Extractor::extract(const http::RequestHead& head, const Peer& peer, Scratch& scratch,
                        Extraction& out) const {
  Compiled::Pass(*compiled_, head, scratch, out).run(peer);
}

void Extractor::place(std::string_view method, std::string_view normal_path, const Address& client,
                      Scratch& scratch, Extraction& out) const {
  http::RequestHead head;
  head.method_text = method;
  head.path = normal_path;
  Compiled::Pass(*compiled_, head, scratch, out).place(client);
}

bool Extractor::exempts(std::string_view caller) const noexcept {
  return compiled_->exempt_callers.contains(caller);
}

bool Extractor::is_trusted(const Address& peer) const noexcept {
  return compiled_->trusted.contains(plain_address(peer));
}

const ExtractorOptions& Extractor::options() const noexcept {
  return compiled_->options;
}

std::size_t Extractor::dimensions() const noexcept {
  return compiled_->dimensions;
}

std::string_view Extractor::dimension_name(Dimension d) const noexcept {
  return d < kMaxDimensions ? std::string_view(compiled_->names[d]) : std::string_view();
}

}  // namespace weir::identity
