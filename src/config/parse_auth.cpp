// SPDX-License-Identifier: Apache-2.0
// `auth` and `classes`. The key file holds hashes only; even so no message ever quotes one.
#include <algorithm>
#include <set>

#include "config/parse.hpp"
#include "config/yaml_reader.hpp"
#include "identity/path_table.hpp"

namespace weir::config {

namespace {

bool is_sha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void parse_api_key(const Node& node, const std::string& path, std::set<std::string>& seen, Document& document,
                   Context& context) {
  if (node.kind != Node::Kind::map) {
    context.error(node, path, "needs a section such as {sha256: HEX, caller: NAME}");
    return;
  }
  Section section(node, path, context);
  identity::ApiKey key;
  if (section.text("sha256", key.sha256_hex)) {
    std::transform(key.sha256_hex.begin(), key.sha256_hex.end(), key.sha256_hex.begin(),
                   [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
    if (!is_sha256(key.sha256_hex)) section.error("sha256", "is not a SHA-256; 64 hex digits are needed");
    if (!seen.insert(key.sha256_hex).second) section.error("sha256", "stands in the file twice");
  } else {
    section.error("sha256", "is missing; write the SHA-256 of the key in hex");
  }
  for (const Entry& entry : node.entries) {
    if (entry.key == "sha256") continue;
    std::string value;
    if (section.text(entry.key, value)) key.attributes.emplace_back(entry.key, value);
  }
  if (key.attributes.empty()) section.error("sha256", "says nothing; add at least one such as caller: NAME");
  document.api_keys.push_back(std::move(key));
}

void read_key_file(const NamedFile& named, Context& context, Document& document) {
  const std::uint32_t file = context.diagnostics.add_file(named.path);
  const std::optional<Node> tree = read_yaml(named.bytes, file, Environment::keep, context.diagnostics);
  if (!tree) return;
  Section root(*tree, "", context);
  const Node* const keys = root.find("keys");
  root.finish();
  if (keys == nullptr || keys->kind != Node::Kind::sequence) {
    root.error("keys", "needs a list such as [{sha256: HEX, caller: NAME}]");
    return;
  }
  std::set<std::string> seen;
  for (std::size_t n = 0; n < keys->items.size(); ++n) {
    parse_api_key(keys->items[n], "keys[" + std::to_string(n) + "]", seen, document, context);
  }
}

}  // namespace

std::optional<identity::PathPattern> parse_pattern(const std::string& text, Position at,
                                                   const std::string& path, Context& context) {
  std::string why;
  std::optional<identity::PathPattern> pattern = identity::parse_path_pattern(text, why);
  if (!pattern) context.diagnostics.error(at, path, "`" + text + "` is no path pattern: " + why);
  return pattern;
}

bool parse_credential(Section& section, std::string_view key, identity::Credential& out) {
  using identity::Credential;
  static constexpr Word<Credential> words[] = {{"none", Credential::none},
                                               {"api_key", Credential::api_key},
                                               {"jwt", Credential::jwt},
                                               {"any", Credential::any}};
  return section.word(key, out, words);
}

void parse_auth(Section& root, Document& document) {
  const Node* const node = root.find("auth");
  if (node == nullptr) return;
  Section section(*node, "auth", root.context());
  document.auth_at = root.at("auth");
  identity::AuthOptions& options = document.auth;
  std::string header = "X-Api-Key";
  if (section.text("header", header) && !is_token(header)) {
    section.error("header", "is not a name that HTTP allows for a field");
  }
  if (const auto named = read_named_file(section, "api_keys_file", document.weir_file)) {
    read_key_file(*named, section.context(), document);
    options.api_key_header = header;
  }
  parse_jwt(section, document);
  if (parse_credential(section, "required", options.required)) document.auth_at = section.at("required");
  using identity::OnInvalid;
  static constexpr Word<OnInvalid> words[] = {{"refuse", OnInvalid::refuse},
                                              {"anonymous", OnInvalid::anonymous}};
  section.word("on_invalid", options.on_invalid, words);
  section.boolean("forward", document.forward_credentials);
  section.finish();
}

void parse_classes(Section& root, Document& document) {
  const Node* const node = root.find("classes");
  if (node == nullptr) return;
  Section section(*node, "classes", root.context());
  if (node->kind != Node::Kind::map) return;
  for (const Entry& entry : node->entries) {
    ClassSpec spec;
    spec.at = entry.at;
    spec.options.name = entry.key;
    if (!is_name(entry.key)) section.error(entry.key, "is not a name; use letters, digits, _ and -");
    std::vector<std::string> texts;
    section.texts(entry.key, texts);
    for (std::size_t n = 0; n < texts.size(); ++n) {
      const Position at = entry.value.items[n].at;
      const auto pattern = parse_pattern(texts[n], at, section.path_of(entry.key), root.context());
      if (!pattern) continue;
      spec.options.patterns.push_back(*pattern);
      spec.patterns.push_back({texts[n], at, section.path_of(entry.key)});
    }
    document.classes.push_back(std::move(spec));
  }
}

}  // namespace weir::config
