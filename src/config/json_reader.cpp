// SPDX-License-Identifier: Apache-2.0
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <deque>

#include "config/tree_builder.hpp"
#include "config/yaml_reader.hpp"

namespace weir::config {

namespace {

using boost::json::error_code;
using boost::json::string_view;

// Parse events into the builder. Positions come from where the bytes of a token lie in the text, which the
// parser passes on as views; tokens it had to unescape get the position of the token before.
class JsonEvents {
 public:
  static constexpr std::size_t max_object_size = kMaxNodes;
  static constexpr std::size_t max_array_size = kMaxNodes;
  static constexpr std::size_t max_key_size = 64 * 1024;
  static constexpr std::size_t max_string_size = 1024 * 1024;

  JsonEvents(std::string_view text, std::uint32_t file, Diagnostics& diagnostics)
      : text_(text), at_{file, 1, 1}, builder_(diagnostics) {}

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

  bool on_object_begin(error_code&) { return open(Node::Kind::map); }
  bool on_object_end(std::size_t, error_code&) { return close(); }
  bool on_array_begin(error_code&) { return open(Node::Kind::sequence); }
  bool on_array_end(std::size_t, error_code&) { return close(); }

  bool on_key_part(string_view part, std::size_t, error_code&) { return keep(part); }
  bool on_key(string_view part, std::size_t, error_code&) { return scalar(part, true); }
  bool on_string_part(string_view part, std::size_t, error_code&) { return keep(part); }
  bool on_string(string_view part, std::size_t, error_code&) { return scalar(part, true); }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t value, string_view part, error_code&) { return number(value, part); }
  bool on_uint64(std::uint64_t value, string_view part, error_code&) { return number(value, part); }
  bool on_double(double value, string_view part, error_code&) { return number(value, part); }
  bool on_bool(bool value, error_code&) { return scalar(value ? "true" : "false", false); }
  bool on_null(error_code&) {
    Node node;
    node.at = at_;
    builder_.add(std::move(node));
    return true;
  }

  Node take() { return builder_.take(); }

 private:
  bool open(Node::Kind kind) {
    builder_.open(kind, at_);
    return true;
  }
  bool close() {
    builder_.close();
    return true;
  }

  bool keep(string_view part) {
    if (pending_.empty()) advance(part);
    pending_.append(part.data(), part.size());
    return true;
  }

  bool scalar(string_view part, bool quoted) {
    keep(part);
    Node node;
    node.kind = Node::Kind::scalar;
    node.quoted = quoted;
    node.at = at_;
    node.text = std::exchange(pending_, {});
    builder_.add(std::move(node));
    return true;
  }

  template <class Number>
  bool number(Number value, string_view part) {
    char digits[40];
    const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, value);
    advance(part);
    pending_.assign(digits, end.ptr);
    return scalar({}, false);
  }

  // Moves the position forward to where `part` lies, if it lies in the text.
  void advance(string_view part) {
    const std::less<const char*> before;
    if (part.empty() || before(part.data(), text_.data() + offset_)) return;
    if (!before(part.data(), text_.data() + text_.size())) return;
    const auto target = static_cast<std::size_t>(part.data() - text_.data());
    for (; offset_ < target; ++offset_) {
      const bool line_end = text_[offset_] == '\n';
      at_.line += line_end ? 1 : 0;
      at_.column = line_end ? 1 : at_.column + 1;
    }
  }

  std::string_view text_;
  Position at_;
  std::size_t offset_ = 0;
  std::string pending_;
  TreeBuilder builder_;
};

}  // namespace

std::optional<Node> read_json(std::string_view text, std::uint32_t file, Diagnostics& diagnostics) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    diagnostics.error({file, 0, 0}, {}, "the file is empty");
    return std::nullopt;
  }
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::json::basic_parser<JsonEvents> parser(options, text, file, diagnostics);
  error_code failure;
  try {
    const std::size_t used = parser.write_some(false, text.data(), text.size(), failure);
    const std::size_t rest = failure ? used : text.find_first_not_of(" \t\r\n", used);
    if (!failure && rest != std::string_view::npos) failure = boost::json::error::extra_data;
    if (!failure) return parser.handler().take();
    diagnostics.error(position_of(text, std::min(rest, text.size()), file), {},
                      "this is not valid JSON: " + failure.message());
  } catch (const Refused& refused) {
    diagnostics.error(refused.at, {}, refused.why);
  }
  return std::nullopt;
}

}  // namespace weir::config
