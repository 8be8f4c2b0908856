// SPDX-License-Identifier: Apache-2.0
// `identity` and `regions`: how each dimension's value is found.
#include <algorithm>
#include <array>
#include <span>

#include "config/parse.hpp"
#include "config/validate.hpp"
#include "identity/sources.hpp"

namespace weir::config {

namespace {

using identity::DimensionOptions;
using identity::Missing;
using identity::Source;
using identity::SourceKind;
namespace dimension = identity::dimension;

struct BuiltIn {
  std::string_view name;
  identity::Dimension index;
};
constexpr std::array<BuiltIn, 10> kBuiltIn{{{"node", dimension::node},
                                            {"caller", dimension::caller},
                                            {"user", dimension::user},
                                            {"api", dimension::api},
                                            {"ip", dimension::ip},
                                            {"class", dimension::api_class},
                                            {"upstream", dimension::upstream},
                                            {"tier", dimension::tier},
                                            {"region", dimension::region},
                                            {"role", dimension::role}}};

// Computed by the gateway itself, never by sources.
bool is_computed(std::string_view name) {
  constexpr std::array<std::string_view, 5> names{"node", "api", "ip", "class", "upstream"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool trusted_only(Section& item) {
  static constexpr Word<bool> words[] = {{"anyone", false}, {"proxies", true}};
  bool trusted = false;
  item.word("trust", trusted, words);
  return trusted;
}

void check_certificate_part(Section& item, std::string_view part) {
  const auto parts = identity::certificate_parts();
  if (std::find(parts.begin(), parts.end(), part) != parts.end()) return;
  item.error("client_certificate", not_one_of("part of a certificate", part, parts));
}

// One item of `from`: `peer`, `region`, or {header: X, trust: proxies} and the like.
std::optional<Source> parse_source(const Node& node, const std::string& path, Context& context) {
  constexpr std::string_view forms =
      "needs one of {header: NAME}, {query: NAME}, {cookie: NAME}, {api_key: HEADER}, {jwt: CLAIM}, "
      "{client_certificate: PART}, peer or region";
  if (node.kind == Node::Kind::scalar && node.text == "peer")
    return Source{SourceKind::peer_address, "", false};
  if (node.kind == Node::Kind::scalar && node.text == "region") return Source{SourceKind::region, "", false};
  if (node.kind != Node::Kind::map) {
    context.error(node, path, std::string(forms));
    return std::nullopt;
  }
  Section item(node, path, context);
  constexpr std::array<std::pair<std::string_view, SourceKind>, 6> kinds{
      {{"header", SourceKind::header},
       {"client_certificate", SourceKind::client_certificate},
       {"query", SourceKind::query},
       {"cookie", SourceKind::cookie},
       {"api_key", SourceKind::api_key},
       {"jwt", SourceKind::jwt}}};
  Source source;
  int given = 0;
  for (const auto& [key, kind] : kinds) {
    if (!item.text(key, source.name)) continue;
    source.kind = kind;
    ++given;
    const bool is_field = kind == SourceKind::header || kind == SourceKind::api_key;
    if (is_field && !is_token(source.name)) item.error(key, "is not a name that HTTP allows for a field");
  }
  if (source.kind == SourceKind::client_certificate) check_certificate_part(item, source.name);
  source.trusted_only = trusted_only(item);
  item.finish();
  if (given == 1 && !source.name.empty()) return source;
  context.error(node, path, std::string(forms));
  return std::nullopt;
}

void parse_sources(Section& section, DimensionOptions& options) {
  const Node* const list = section.find("from");
  if (list == nullptr) {
    if (section.find_maybe_empty("from") == nullptr) {
      section.error("from", "is missing; write where the value comes from, such as [{header: X-User-Id}]");
    }
    return;
  }
  if (list->kind != Node::Kind::sequence || list->items.empty()) {
    section.error("from", "needs a list such as [{header: X-User-Id}]");
    return;
  }
  for (std::size_t n = 0; n < list->items.size(); ++n) {
    const std::string path = section.path_of("from") + "[" + std::to_string(n) + "]";
    if (const std::optional<Source> source = parse_source(list->items[n], path, section.context())) {
      options.from.push_back(*source);
    }
  }
}

void parse_dimension(const Entry& entry, Document& document, Context& context) {
  DimensionSpec spec;
  spec.at = entry.at;
  spec.options.name = entry.key;
  Section section(entry.value, "identity." + entry.key, context);
  if (is_computed(entry.key)) {
    context.diagnostics.error(entry.at, section.path(), "is computed by the gateway and has no sources");
    return;
  }
  if (!is_name(entry.key)) {
    context.diagnostics.error(entry.at, section.path(), "is not a name; use letters, digits, _ and -");
  }
  parse_sources(section, spec.options);
  static constexpr Word<Missing> words[] = {
      {"anonymous", Missing::anonymous}, {"ip", Missing::ip}, {"reject", Missing::reject}};
  Missing missing = Missing::anonymous;
  if (section.word("missing", missing, words)) spec.options.missing = missing;
  std::int64_t status = spec.options.reject_status;
  if (section.count("reject_status", status, {400, 499}))
    spec.options.reject_status = static_cast<int>(status);
  section.finish();
  document.dimensions.push_back(std::move(spec));
}

void number_dimensions(Document& document, Context& context) {
  identity::Dimension next = dimension::kFirstDeclared;
  for (DimensionSpec& spec : document.dimensions) {
    if (const auto known = built_in_dimension(spec.options.name)) {
      spec.options.index = *known;
    } else if (next < identity::kMaxDimensions) {
      spec.options.index = next++;
    } else {
      context.diagnostics.error(spec.at, "identity." + spec.options.name,
                                "is one dimension too many; 14 of your own is the most");
    }
  }
}

void parse_regions(Section& root, Document& document) {
  const Node* const node = root.find("regions");
  if (node == nullptr) return;
  Section section(*node, "regions", root.context());
  if (node->kind != Node::Kind::map) return;
  for (const Entry& entry : node->entries) {
    if (!is_name(entry.key)) {
      section.error(entry.key, "is not a name; use letters, digits, _ and -");
    }
    std::vector<identity::Cidr> blocks;
    section.cidrs(entry.key, blocks);
    for (const identity::Cidr& block : blocks) document.regions.push_back({block, entry.key});
  }
}

}  // namespace

std::optional<identity::Dimension> built_in_dimension(std::string_view name) {
  for (const BuiltIn& one : kBuiltIn) {
    if (one.name == name) return one.index;
  }
  return std::nullopt;
}

bool is_token(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
  });
}

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto inner = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  return !text.empty() && text.size() <= 64 && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), inner);
}

void parse_identity(Section& root, Document& document) {
  parse_regions(root, document);
  const Node* const node = root.find("identity");
  if (node == nullptr) return;
  const Section section(*node, "identity", root.context());
  if (node->kind != Node::Kind::map) return;
  for (const Entry& entry : node->entries) parse_dimension(entry, document, root.context());
  number_dimensions(document, root.context());
}

}  // namespace weir::config
