// SPDX-License-Identifier: Apache-2.0
// `answers` and `log`: what clients and operators get to read.
#include <algorithm>

#include "config/parse.hpp"
#include "telemetry/syslog_socket.hpp"

namespace weir::config {

namespace {

bool is_origin(const std::string& text) {
  if (text == "*") return true;
  const bool scheme = text.starts_with("http://") || text.starts_with("https://");
  const std::size_t host = text.find("://") + 3;
  return scheme && host < text.size() && text.find('/', host) == std::string::npos;
}

void read_tokens(Section& section, std::string_view key, std::vector<std::string>& out) {
  if (!section.texts(key, out)) return;
  for (const std::string& token : out) {
    if (!is_token(token)) section.error(key, "`" + token + "` is not a name that HTTP allows");
  }
}

void parse_cors(Section& answers, pipeline::CorsOptions& cors) {
  const Node* const node = answers.find("cors");
  if (node == nullptr) return;
  Section section(*node, "answers.cors", answers.context());
  section.texts("origins", cors.origins);
  for (const std::string& origin : cors.origins) {
    if (!is_origin(origin)) {
      section.error("origins",
                    "`" + origin + "` is not an origin; write one such as https://app.example, or *");
    }
  }
  read_tokens(section, "methods", cors.methods);
  read_tokens(section, "headers", cors.headers);
  Milliseconds age{cors.max_age_s * 1000};
  section.duration("max_age", age, {Milliseconds{0}, std::chrono::hours(24)});
  cors.max_age_s = age.count() / 1000;
  section.boolean("credentials", cors.credentials);
  static constexpr Word<bool> preflight[] = {{"answer", false}, {"pass", true}};
  section.word("preflight", cors.pass_preflight, preflight);
  const bool any = std::find(cors.origins.begin(), cors.origins.end(), "*") != cors.origins.end();
  if (cors.credentials && any) {
    section.error("credentials",
                  "cannot be true beside the origin *; browsers refuse that; list the origins");
  }
  section.finish();
}

void parse_body(Section& answers, pipeline::AnswerOptions& options) {
  const Node* const node = answers.find("body");
  if (node == nullptr) return;
  if (node->kind == Node::Kind::scalar) {
    options.body_template = node->text;
    return;
  }
  Section section(*node, "answers.body", answers.context());
  section.text("template", options.body_template);
  section.text("content_type", options.body_content_type);
  const bool printable = std::all_of(options.body_content_type.begin(), options.body_content_type.end(),
                                     [](char c) { return c >= ' ' && c <= '~'; });
  if (!printable || options.body_content_type.empty()) {
    section.error("content_type", "is not a media type; write one such as application/json");
  }
  section.finish();
}

void parse_linger(Section& answers, http::ServerOptions& server) {
  const Node* const node = answers.find("linger");
  if (node == nullptr) return;
  Section section(*node, "answers.linger", answers.context());
  section.duration("time", server.linger_time, {Milliseconds{0}, std::chrono::minutes(1)});
  std::uint64_t bytes = 0;
  if (section.size("bytes", bytes, {0, std::uint64_t{1} << 30})) server.linger_bytes = bytes;
  section.finish();
}

// stdout, stderr, off, syslog in one of its forms, or a file.
void read_target(Section& section, std::string_view key, std::string& out) {
  std::string why;
  if (!section.text(key, out) || !telemetry::names_syslog(out)) return;
  if (!telemetry::parse_syslog_target(out, why)) section.error(key, "`" + out + "` " + why);
}

void parse_denials(Section& log, pipeline::LogOptions& options) {
  const Node* const node = log.find("denials");
  if (node == nullptr) return;
  Section section(*node, "log.denials", log.context());
  read_target(section, "to", options.denials);
  const Node* const sample = section.find("sample");
  if (sample != nullptr && sample->kind == Node::Kind::scalar && sample->text == "auto") {
    options.denial_sample = 0;
  } else if (sample != nullptr) {
    section.share("sample", options.denial_sample);
  }
  section.finish();
}

}  // namespace

void parse_answers(Section& root, Document& document) {
  const Node* const node = root.find("answers");
  if (node == nullptr) return;
  pipeline::AnswerOptions& answers = document.answers;
  Section section(*node, "answers", root.context());
  section.boolean("ietf", answers.ietf);
  using pipeline::LegacyReset;
  static constexpr Word<LegacyReset> legacy[] = {
      {"epoch", LegacyReset::epoch}, {"delta", LegacyReset::delta}, {"off", LegacyReset::off}};
  section.word("legacy", answers.legacy, legacy);
  using pipeline::UpstreamFields;
  static constexpr Word<UpstreamFields> fields[] = {
      {"pass", UpstreamFields::pass}, {"strip", UpstreamFields::strip}, {"merge", UpstreamFields::merge}};
  section.word("upstream_fields", answers.upstream_fields, fields);
  if (answers.upstream_fields == UpstreamFields::merge) {
    section.error("upstream_fields", "`merge` is not supported by this version; write pass or strip");
  }
  section.boolean("retry_after", answers.retry_after);
  std::int64_t status = answers.status;
  if (section.count("status", status, {400, 499})) answers.status = static_cast<int>(status);
  parse_body(section, answers);
  parse_cors(section, answers.cors);
  parse_linger(section, document.server);
  section.finish();
}

void parse_log(Section& root, Document& document) {
  const Node* const node = root.find("log");
  if (node == nullptr) return;
  Section section(*node, "log", root.context());
  static constexpr Word<std::string_view> levels[] = {
      {"trace", "trace"}, {"debug", "debug"}, {"info", "info"}, {"warn", "warn"}, {"error", "error"}};
  std::string_view level = document.log.level;
  if (section.word("level", level, levels)) document.log.level = std::string(level);
  read_target(section, "access", document.log.access);
  static constexpr Word<bool> format[] = {{"json", true}};
  bool json = true;
  section.word("format", json, format);
  parse_denials(section, document.log);
  section.finish();
}

}  // namespace weir::config
