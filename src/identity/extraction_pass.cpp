// SPDX-License-Identifier: Apache-2.0
#include "identity/extraction_pass.hpp"

#include <algorithm>

#include "identity/client_address.hpp"
#include "identity/path_normal.hpp"

namespace weir::identity {
namespace {

// The api, and the class, of what no template of its own matches.
constexpr std::string_view kOther = "other";
constexpr std::string_view kBareRest = "/**";

}  // namespace

void ExtractionPass::place(const Address& client) {
  out_.client = client;
  find_block();
  out_.normal_path = head_.path;
  find_api_and_class();
  out_.identity.exempt = is_exempt();
}

void ExtractionPass::run(const Extractor::Peer& peer) {
  certificate_ = peer.certificate;
  find_client(peer.address);
  find_path();
  find_api_and_class();
  if (tables_.authenticator.enabled() && out_.refusal == Refusal::none) check_credentials();
  if (out_.refusal == Refusal::unauthenticated) return;
  for (const SoughtDimension& each : tables_.sought) find_dimension(each);
  out_.identity.exempt = is_exempt();
}

void ExtractionPass::find_client(const Address& peer) {
  out_.client = plain_address(peer);
  out_.peer_trusted = tables_.trusted.contains(out_.client);
  if (out_.peer_trusted) out_.client = client_address(head_, peer, tables_.trusted);
  find_block();
}

void ExtractionPass::find_block() {
  const ExtractorOptions& given = tables_.options;
  AddressText text;
  set(dimension::ip, scratch_.keep(address_key(out_.client, given.ipv4_prefix, given.ipv6_prefix, text)));
  const auto region = tables_.regions.find(out_.client);
  if (region) set(dimension::region, given.regions[*region].name);
}

void ExtractionPass::find_path() {
  thread_local std::string buffer;
  std::string_view normal;
  const PathFault fault = normalise_path(head_.path, tables_.options.paths, buffer, normal);
  if (fault != PathFault::none) {
    refuse(Refusal::bad_path, 400, reason_of(fault));
    return;
  }
  const bool derived = normal.data() == buffer.data();
  out_.normal_path = derived ? scratch_.keep(normal) : normal;
}

void ExtractionPass::find_api_and_class() {
  const ExtractorOptions& given = tables_.options;
  set(dimension::node, given.node);
  const auto api = tables_.apis.find(head_.method_text, out_.normal_path);
  const bool own = api && given.apis[*api].path != kBareRest;
  set(dimension::api, own ? std::string_view(given.apis[*api].text) : kOther);
  if (tables_.has_class) set(dimension::api_class, class_of());
}

std::string_view ExtractionPass::class_of() const {
  std::string_view rest = kOther;
  for (std::size_t n = 0; n < tables_.classes.size(); ++n) {
    const ApiClass& each = tables_.options.classes[n];
    if (each.patterns.empty()) rest = each.name;
    if (tables_.classes[n].find(head_.method_text, out_.normal_path)) return each.name;
  }
  return rest;
}

// Whoever presents a credential that is not good is refused even where none is required: it must never turn
// into an anonymous request in silence.
void ExtractionPass::check_credentials() {
  const Authenticator& door = tables_.authenticator;
  const AuthFault fault = credentials_.check_token();
  if (fault != AuthFault::none) fail(fault, Credential::jwt);
  if (credentials_.has_token()) out_.proved = Credential::jwt;
  if (door.checks_api_keys()) {
    for (const std::string& header : tables_.key_headers) check_key(header);
  }
  const Credential required = door.required(head_.method_text, out_.normal_path);
  if (satisfies(out_.proved, required) || out_.refusal != Refusal::none) return;
  if (out_.auth_fault == AuthFault::none) out_.auth_fault = AuthFault::missing;
  refuse_credential(out_.auth_fault, failed_ == Credential::none ? required : failed_);
}

void ExtractionPass::check_key(std::string_view header) {
  const PresentedCredentials::Key& key = credentials_.key(header);
  if (key.known != nullptr) {
    out_.proved = credentials_.has_token() ? Credential::any : Credential::api_key;
  } else if (key.contradictory) {
    fail(AuthFault::contradictory, Credential::api_key);
  } else if (key.presented) {
    fail(AuthFault::unknown_api_key, Credential::api_key);
  }
}

void ExtractionPass::fail(AuthFault fault, Credential presented) {
  if (out_.auth_fault != AuthFault::none) return;
  out_.auth_fault = fault;
  failed_ = presented;
  if (tables_.authenticator.refuses_invalid()) refuse_credential(fault, presented);
}

void ExtractionPass::refuse_credential(AuthFault fault, Credential asked) {
  refuse(Refusal::unauthenticated, 401, reason_of(fault));
  out_.challenge = challenge(fault, asked);
}

void ExtractionPass::find_dimension(const SoughtDimension& each) {
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
    reading = credentials_.read_any_key(wanted.name);
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

Reading ExtractionPass::read(const NamedSource& from, std::string_view dimension_name) {
  const Source& source = from.source;
  switch (source.kind) {
    case SourceKind::header:
      return read_header(head_, from.name);
    case SourceKind::query:
      return read_kept_query(source.name);
    case SourceKind::cookie:
      return read_cookie(head_, source.name);
    case SourceKind::api_key:
      return credentials_.read_key(source.name, dimension_name);
    case SourceKind::client_certificate:
      return certificate_ == nullptr ? Reading() : read_text(certificate_part(*certificate_, source.name));
    case SourceKind::jwt:
      return read_kept_claim(source.name);
    case SourceKind::peer_address:
      return {Reading::State::present, out_.identity.text(dimension::ip)};
    case SourceKind::region:
      break;
  }
  const auto region = tables_.regions.find(out_.client);
  if (!region) return {};
  return {Reading::State::present, tables_.options.regions[*region].name};
}

Reading ExtractionPass::read_kept_query(std::string_view name) {
  thread_local std::string buffer;
  Reading reading = read_query(head_, name, buffer);
  const bool in_head = reading.text.data() >= head_.query.data() &&
                       reading.text.data() < head_.query.data() + head_.query.size();
  if (!reading.text.empty() && !in_head) reading.text = scratch_.keep(reading.text);
  return reading;
}

Reading ExtractionPass::read_kept_claim(std::string_view name) {
  Reading reading = credentials_.read_claim(name);
  if (reading.state == Reading::State::present) reading.text = scratch_.keep(reading.text);
  return reading;
}

void ExtractionPass::miss(const DimensionOptions& wanted) {
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
  refuse(Refusal::missing_identity, wanted.reject_status, tables_.missing_reasons[wanted.index]);
}

// Several dimensions may need it; one copy serves them.
std::string_view ExtractionPass::marked_address() {
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
void ExtractionPass::refuse(Refusal refusal, int status, std::string_view reason) {
  if (out_.refusal != Refusal::none) return;
  out_.refusal = refusal;
  out_.refusal_status = status;
  out_.refusal_reason = reason;
}

bool ExtractionPass::is_exempt() const {
  const auto& callers = tables_.exempt_callers;
  const Value& caller = out_.identity[dimension::caller];
  if (caller_is_vouched_for_ && caller.presence == Presence::present && callers.contains(caller.text))
    return true;
  if (tables_.exempt_blocks.contains(out_.client)) return true;
  if (tables_.options.exempt.paths.empty() || out_.normal_path.empty()) return false;
  return tables_.exempt_paths.find(head_.method_text, out_.normal_path).has_value();
}

}  // namespace weir::identity
