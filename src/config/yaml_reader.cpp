// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_reader.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <cstdlib>
#include <istream>
#include <streambuf>

#include "config/tree_builder.hpp"

namespace weir::config {

namespace {

// A stream over bytes that stay where they are.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* const begin = const_cast<char*>(text.data());  // a get area is never written through
    setg(begin, begin, begin + text.size());
  }
};

// Replaces ${NAME}. Returns false after an error.
bool expand(Node& scalar, Diagnostics& diagnostics) {
  if (scalar.text.find("${") == std::string::npos) return true;
  std::string out;
  std::string_view rest = scalar.text;
  for (std::size_t at = rest.find("${"); at != std::string_view::npos; at = rest.find("${")) {
    if (at > 0 && rest[at - 1] == '$') {
      out.append(rest.substr(0, at - 1)).append("${");
      rest.remove_prefix(at + 2);
      continue;
    }
    out.append(rest.substr(0, at));
    const std::size_t end = rest.find('}', at);
    if (end == std::string_view::npos) {
      diagnostics.error(scalar.at, {}, "`${` without `}`; write $${ for the two characters themselves");
      return false;
    }
    const std::string name(rest.substr(at + 2, end - at - 2));
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) {
      diagnostics.error(scalar.at, {}, "the environment variable " + name + " is not set");
      return false;
    }
    out.append(value);
    rest.remove_prefix(end + 1);
  }
  out.append(rest);
  scalar.written = std::make_unique<std::string>(std::move(scalar.text));
  scalar.text = std::move(out);
  return true;
}

class YamlEvents : public YAML::EventHandler {
 public:
  YamlEvents(std::uint32_t file, Environment environment, Diagnostics& diagnostics)
      : file_(file), environment_(environment), diagnostics_(diagnostics), builder_(diagnostics) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_extras(mark, anchor, {});
    Node node;
    node.at = at(mark);
    builder_.add(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{at(mark), "aliases (*name) are not supported; write the value out"};
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_extras(mark, anchor, tag);
    Node node;
    node.kind = Node::Kind::scalar;
    node.quoted = tag == "!";  // how yaml-cpp marks a scalar that is not plain
    node.at = at(mark);
    node.text = value;
    const bool is_value = !builder_.expects_key();
    if (is_value && environment_ == Environment::expand) expand(node, diagnostics_);
    builder_.add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_extras(mark, anchor, tag);
    builder_.open(Node::Kind::sequence, at(mark));
  }
  void OnSequenceEnd() override { builder_.close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_extras(mark, anchor, tag);
    builder_.open(Node::Kind::map, at(mark));
  }
  void OnMapEnd() override { builder_.close(); }

  Node take() { return builder_.take(); }

 private:
  Position at(const YAML::Mark& mark) const {
    return {file_, static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
  }

  void refuse_extras(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& tag) const {
    if (anchor != YAML::NullAnchor) throw Refused{at(mark), "anchors (&name) are not supported"};
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw Refused{at(mark), "tags (!name) are not supported"};
  }

  std::uint32_t file_;
  Environment environment_;
  Diagnostics& diagnostics_;
  TreeBuilder builder_;
};

// yaml-cpp's words are a scanner's; these are the ones people need most often.
std::string plain_words(const std::string& message) {
  if (message.find("end of map flow not found") != std::string::npos) return "a { is never closed by }";
  if (message.find("end of sequence flow not found") != std::string::npos) return "a [ is never closed by ]";
  if (message.find("end of map not found") != std::string::npos) {
    return "the indentation does not fit the section above, or a `:` is missing";
  }
  if (message.find("illegal map value") != std::string::npos) {
    return "a `key: value` cannot stand here; is a quote or the indentation missing?";
  }
  return "this is not valid YAML: " + message;
}

// The first byte that is not allowed in a configuration file, and why.
std::optional<Position> find_bad_byte(std::string_view text, std::uint32_t file, std::string& why) {
  if (const std::size_t bad = first_bad_character(text); bad < text.size()) {
    why = "this is not text: a byte that is no UTF-8, or a control character";
    return position_of(text, bad, file);
  }
  std::size_t line_start = 0;
  while (line_start < text.size()) {
    const std::size_t content = text.find_first_not_of(" \t\r\n", line_start);
    const std::string_view indent = text.substr(line_start, content - line_start);
    const std::size_t tab = indent.substr(indent.find_last_of('\n') + 1).find('\t');
    const bool matters = content != std::string_view::npos && text[content] != '#';
    if (matters && tab != std::string_view::npos) {
      why = "a tab in the indentation; YAML wants spaces";
      return position_of(text, line_start + indent.find_last_of('\n') + 1 + tab, file);
    }
    const std::size_t end = content == std::string_view::npos ? content : text.find('\n', content);
    if (end == std::string_view::npos) break;
    line_start = end + 1;
  }
  return std::nullopt;
}

}  // namespace

Position position_of(std::string_view text, std::size_t offset, std::uint32_t file) {
  Position at{file, 1, 1};
  for (const char c : text.substr(0, offset)) {
    at.line += c == '\n' ? 1 : 0;
    at.column = c == '\n' ? 1 : at.column + 1;
  }
  return at;
}

std::optional<Node> read_yaml(std::string_view text, std::uint32_t file, Environment environment,
                              Diagnostics& diagnostics) {
  std::string why;
  if (const std::optional<Position> bad = find_bad_byte(text, file, why)) {
    diagnostics.error(*bad, {}, why);
    return std::nullopt;
  }
  ViewBuffer buffer(text);
  std::istream stream(&buffer);
  YamlEvents events(file, environment, diagnostics);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(events)) {
      diagnostics.error({file, 0, 0}, {}, "the file is empty");
      return std::nullopt;
    }
    Node tree = events.take();
    YamlEvents extra(file, Environment::keep, diagnostics);
    if (parser.HandleNextDocument(extra)) {
      diagnostics.error(extra.take().at, {}, "a second document (after ---); one file holds one document");
    }
    if (tree.kind == Node::Kind::null) {
      diagnostics.error({file, 0, 0}, {}, "the file is empty");
      return std::nullopt;
    }
    return tree;
  } catch (const Refused& refused) {
    diagnostics.error(refused.at, {}, refused.why);
  } catch (const YAML::Exception& broken) {
    const Position at = broken.mark.is_null()
                            ? Position{file, 0, 0}
                            : Position{file, static_cast<std::uint32_t>(broken.mark.line + 1),
                                       static_cast<std::uint32_t>(broken.mark.column + 1)};
    diagnostics.error(at, {}, plain_words(broken.msg));
  }
  return std::nullopt;
}

}  // namespace weir::config
