// SPDX-License-Identifier: Apache-2.0
// `auth.jwt` and the key set it names (RFC 7517). A key set may hold what this gateway has no use for, so
// members and kinds of key that are not known are skipped, never refused. No message quotes a member's value.
#include <algorithm>
#include <array>

#include "config/parse.hpp"
#include "config/yaml_reader.hpp"
#include "identity/jwt_keys.hpp"

namespace weir::config {

namespace {

using identity::JwtAlgorithm;
using identity::JwtKeys;
using identity::WrittenKey;

constexpr std::size_t kMostKeys = 256;
constexpr Milliseconds kMostLeeway{3'600'000};

const Entry* member(const Node& map, std::string_view name) {
  const auto found =
      std::find_if(map.entries.begin(), map.entries.end(), [&](const Entry& one) { return one.key == name; });
  return found == map.entries.end() ? nullptr : &*found;
}

// `use` and `key_ops` may set a key aside for encryption.
bool is_for_signatures(const Node& key) {
  const Entry* const use = member(key, "use");
  if (use != nullptr && use->value.text != "sig") return false;
  const Entry* const operations = member(key, "key_ops");
  if (operations == nullptr) return true;
  const std::vector<Node>& items = operations->value.items;
  return std::any_of(items.begin(), items.end(), [](const Node& one) { return one.text == "verify"; });
}

// False if a member that matters is no string.
bool read_members(const Node& key, const std::string& path, WrittenKey& out, Context& context) {
  const std::array<std::pair<std::string_view, std::string*>, 9> wanted{{{"kty", &out.kty},
                                                                         {"kid", &out.kid},
                                                                         {"alg", &out.alg},
                                                                         {"crv", &out.crv},
                                                                         {"k", &out.k},
                                                                         {"n", &out.n},
                                                                         {"e", &out.e},
                                                                         {"x", &out.x},
                                                                         {"y", &out.y}}};
  for (const auto& [name, text] : wanted) {
    const Entry* const entry = member(key, name);
    if (entry == nullptr) continue;
    if (entry->value.kind != Node::Kind::scalar || !entry->value.quoted) {
      context.diagnostics.error(entry->at, join_path(path, name), "is no string");
      return false;
    }
    *text = entry->value.text;
  }
  if (out.kty.empty()) context.error(key, join_path(path, "kty"), "is missing");
  return !out.kty.empty();
}

void parse_key(const Node& node, const std::string& path, JwtKeys& keys, Context& context) {
  if (node.kind != Node::Kind::map) {
    context.error(node, path, "is no JSON Web Key, which is an object");
    return;
  }
  WrittenKey written;
  if (!is_for_signatures(node) || !read_members(node, path, written, context)) return;
  JwtKeys::Fault fault;
  const JwtKeys::Use use = keys.add(written, fault);
  if (use == JwtKeys::Use::taken) {
    if (written.kty != "oct" && member(node, "d") != nullptr) {
      context.diagnostics.warning(node.at, path,
                                  "holds a private key, which the gateway has no need to know");
    }
    return;
  }
  const Entry* const entry = member(node, fault.member);
  const Position at = entry == nullptr ? node.at : entry->at;
  if (use == JwtKeys::Use::wrong) {
    context.diagnostics.error(at, join_path(path, fault.member), fault.why);
  } else {
    context.diagnostics.warning(at, join_path(path, fault.member), fault.why + "; the key is skipped");
  }
}

void parse_key_set(const Node& tree, JwtKeys& keys, Context& context) {
  const Entry* const list = tree.kind == Node::Kind::map ? member(tree, "keys") : nullptr;
  if (list == nullptr || list->value.kind != Node::Kind::sequence) {
    context.error(tree, "keys", "is missing; a key set is written {\"keys\": [{\"kty\": ...}]}");
    return;
  }
  if (list->value.items.size() > kMostKeys) {
    context.error(list->value, "keys", "has more than " + std::to_string(kMostKeys) + " keys");
    return;
  }
  for (std::size_t n = 0; n < list->value.items.size(); ++n) {
    parse_key(list->value.items[n], "keys[" + std::to_string(n) + "]", keys, context);
  }
}

std::shared_ptr<const JwtKeys> read_key_set(Section& section, const std::string& weir_file) {
  auto keys = std::make_shared<JwtKeys>();
  const auto named = read_named_file(section, "jwks_file", weir_file);
  if (!named) {
    if (section.find_maybe_empty("jwks_file") == nullptr) {
      section.error("jwks_file", "is missing; write the file of the keys that tokens are verified with");
    }
    return keys;
  }
  Context& context = section.context();
  const std::uint32_t file = context.diagnostics.add_file(named->path);
  const std::optional<Node> tree = read_json(named->bytes, file, context.diagnostics);
  if (!tree) return keys;
  parse_key_set(*tree, *keys, context);
  if (keys->empty() && !context.diagnostics.failed()) {
    context.diagnostics.error({file, 0, 0}, "keys", "holds no key that a token could be verified with");
  }
  return keys;
}

// One text or a list of them.
void parse_audiences(Section& section, std::vector<std::string>& out) {
  const Node* const node = section.find("audience");
  if (node == nullptr) return;
  if (node->kind == Node::Kind::scalar) {
    out = {node->text};
  } else {
    section.texts("audience", out);
  }
  const bool blank = std::any_of(out.begin(), out.end(), [](const std::string& one) { return one.empty(); });
  if (out.empty() || blank) section.error("audience", "needs a name or a list of names");
}

void parse_algorithms(Section& section, std::vector<JwtAlgorithm>& out) {
  constexpr std::array<JwtAlgorithm, 3> all{JwtAlgorithm::hs256, JwtAlgorithm::rs256, JwtAlgorithm::es256};
  std::vector<std::string> names;
  if (!section.texts("algorithms", names)) return;
  out.clear();
  for (const std::string& name : names) {
    const auto known = std::find_if(all.begin(), all.end(),
                                    [&](JwtAlgorithm one) { return identity::name_of(one) == name; });
    if (known == all.end()) {
      section.error("algorithms", "`" + name + "` is not one of HS256, RS256 or ES256");
    } else {
      out.push_back(*known);
    }
  }
  if (names.empty()) section.error("algorithms", "needs at least one of HS256, RS256 and ES256");
}

}  // namespace

void parse_jwt(Section& auth, Document& document) {
  const Node* const node = auth.find("jwt");
  if (node == nullptr || (node->kind == Node::Kind::scalar && node->text == "none")) return;
  Section section(*node, auth.path_of("jwt"), auth.context());
  if (node->kind != Node::Kind::map) return;
  identity::JwtOptions& options = document.auth.jwt;
  options.keys = read_key_set(section, document.weir_file);
  if (section.text("header", options.header) && !is_token(options.header)) {
    section.error("header", "is not a name that HTTP allows for a field");
  }
  if (section.text("issuer", options.issuer) && options.issuer.empty()) {
    section.error("issuer", "is empty; leave the key out to accept every issuer");
  }
  parse_audiences(section, options.audiences);
  Milliseconds leeway{options.leeway_ms};
  if (section.duration("leeway", leeway, {Milliseconds{0}, kMostLeeway})) options.leeway_ms = leeway.count();
  parse_algorithms(section, options.algorithms);
  section.finish();
}

}  // namespace weir::config
