// SPDX-License-Identifier: Apache-2.0
// One limit: a word, a number, a share of a capacity, a rate, or a section with all that can vary.
#include "config/parse.hpp"

namespace weir::config {

namespace {

using limit::AlgorithmKind;

constexpr Word<AlgorithmKind> kAlgorithms[] = {
    {"fixed_window", AlgorithmKind::fixed_window},       {"sliding_window", AlgorithmKind::sliding_window},
    {"sliding_counter", AlgorithmKind::sliding_counter}, {"sliding_log", AlgorithmKind::sliding_log},
    {"token_bucket", AlgorithmKind::token_bucket},       {"gcra", AlgorithmKind::gcra},
    {"leaky_bucket", AlgorithmKind::leaky_bucket},       {"concurrency", AlgorithmKind::concurrency}};
constexpr std::string_view kLimitForms =
    "a limit is a number, a rate such as 1000/day, a share of `capacity` such as 60%, unlimited or blocked";

// The value itself. Reports at `node`.
void read_limit_value(const Node& node, const std::string& path, LimitSpec& out, Context& context) {
  const auto wrong = [&](const std::string& why) {
    context.error(node, path, "`" + node.shown() + "` " + why);
  };
  if (node.text == "unlimited" || node.text == "blocked") {
    out.access = node.text == "blocked" ? limit::Access::blocked : limit::Access::unlimited;
    return;
  }
  std::string why;
  if (node.text.ends_with('%')) {
    out.capacity_percent = parse_percent(node.text, why);
    if (!out.capacity_percent || *out.capacity_percent == 0)
      wrong("is not a share of `capacity`, 1% to 100%");
    return;
  }
  if (node.text.find('/') != std::string::npos) {
    const std::optional<Rate> rate = parse_rate(node.text, why);
    if (!rate) return wrong(why);
    out.limit = rate->count;
    out.settings.window = rate->window;
  } else {
    out.limit = parse_count(node.text, why);
    if (!out.limit) return wrong(why + "; " + std::string(kLimitForms));
  }
  if (*out.limit == 0) wrong("would refuse everything; write blocked if that is meant");
}

void read_instant(Section& section, std::string_view key, std::optional<std::int64_t>& out) {
  std::string text;
  if (!section.text(key, text)) return;
  std::string why;
  out = parse_timestamp(text, why);
  if (!out) section.error(key, "`" + text + "` " + why);
}

template <class E, std::size_t N>
void read_word(Section& section, std::string_view key, std::optional<E>& out, const Word<E> (&words)[N]) {
  E value{};
  if (section.word(key, value, words)) out = value;
}

void read_count(Section& section, std::string_view key, std::optional<std::int64_t>& out,
                Range<std::int64_t> range) {
  std::int64_t value = 0;
  if (section.count(key, value, range)) out = value;
}

void read_time(Section& section, std::string_view key, std::optional<std::int64_t>& out,
               Range<Milliseconds> range) {
  Milliseconds value{0};
  if (section.duration(key, value, range)) out = value.count();
}

void read_enforce_percent(Section& section, Settings& settings) {
  std::string text;
  if (!section.text("enforce_percent", text)) return;
  std::string why;
  settings.enforce_percent = parse_percent(text.ends_with('%') ? text : text + "%", why);
  if (!settings.enforce_percent) section.error("enforce_percent", "`" + text + "` " + why);
}

void read_failure(Section& section, Settings& settings) {
  const Node* const node = section.find("on_store_failure");
  if (node == nullptr) return;
  using limit::FailureMode;
  static constexpr Word<FailureMode> words[] = {
      {"local", FailureMode::local}, {"allow", FailureMode::allow}, {"deny", FailureMode::deny}};
  Section failure(*node, section.path_of("on_store_failure"), section.context());
  read_word(failure, "brief", settings.brief, words);
  read_word(failure, "long", settings.lasting, words);
  failure.finish();
}

}  // namespace

void parse_settings(Section& section, Settings& settings) {
  std::string window;
  if (section.text("window", window)) {
    std::string why;
    settings.window = parse_window(window, why);
    if (!settings.window) section.error("window", "`" + window + "` " + why);
  }
  read_word(section, "algorithm", settings.algorithm, kAlgorithms);
  read_count(section, "burst", settings.burst, {1, kMaxExact});
  read_count(section, "cells", settings.cells, {2, 100});
  read_time(section, "max_wait", settings.max_wait_ms, {Milliseconds{1}, std::chrono::minutes(5)});
  double share = 0;
  if (section.share("warn_at", share)) settings.warn_at = share;
  using limit::Enforcement;
  static constexpr Word<Enforcement> modes[] = {{"enforce", Enforcement::enforce},
                                                {"shadow", Enforcement::shadow}};
  read_word(section, "mode", settings.mode, modes);
  read_enforce_percent(section, settings);
  using limit::OnExceed;
  static constexpr Word<OnExceed> exceed[] = {
      {"reject", OnExceed::reject}, {"queue", OnExceed::queue}, {"delay", OnExceed::delay}};
  read_word(section, "on_exceed", settings.on_exceed, exceed);
  read_time(section, "max_delay", settings.max_delay_ms, {Milliseconds{1}, std::chrono::minutes(5)});
  read_failure(section, settings);
}

// Reads the keys every limit section may have; the caller may read more and then finishes the section.
static void parse_limit_section(Section& section, LimitSpec& spec) {
  if (const Node* const value = section.find("limit")) {
    if (value->kind == Node::Kind::scalar) {
      read_limit_value(*value, section.path_of("limit"), spec, section.context());
    } else {
      section.error("limit", std::string(kLimitForms));
    }
  }
  const std::optional<Window> rate = spec.settings.window;
  parse_settings(section, spec.settings);
  if (rate && section.find("window") != nullptr) {
    section.error("window", "stands beside a rate that states its own; write one of the two");
  }
  read_instant(section, "from", spec.from_ms);
  read_instant(section, "until", spec.until_ms);
}

LimitSpec parse_limit(const Node& node, const std::string& path, Context& context) {
  LimitSpec spec;
  spec.at = node.at;
  spec.path = path;
  if (node.kind == Node::Kind::scalar) {
    read_limit_value(node, path, spec, context);
  } else if (node.kind == Node::Kind::map) {
    Section section(node, path, context);
    parse_limit_section(section, spec);
    section.finish();
  } else {
    context.error(node, path, std::string("is ") + kind_name(node.kind) + "; " + std::string(kLimitForms));
  }
  return spec;
}

std::vector<KeyedLimit> parse_keyed_limits(const Node& node, const std::string& path, Context& context) {
  std::vector<KeyedLimit> out;
  const Section shape(node, path, context);
  if (node.kind != Node::Kind::map) return out;
  out.reserve(node.entries.size());
  for (const Entry& entry : node.entries) {
    KeyedLimit one{entry.key, parse_limit(entry.value, join_path(path, entry.key), context)};
    one.limit.at = entry.at;
    out.push_back(std::move(one));
  }
  return out;
}

namespace {

// caller only: its own `user` and `api` sections.
void parse_nested(Section& section, OverrideSpec& spec) {
  if (const Node* const node = section.find("user")) {
    Section user(*node, section.path_of("user"), section.context());
    if (const Node* const value = user.find("default")) {
      spec.user_default = parse_limit(*value, user.path_of("default"), section.context());
    }
    if (const Node* const list = user.find("overrides")) {
      spec.user_overrides = parse_keyed_limits(*list, user.path_of("overrides"), section.context());
    }
    user.finish();
  }
  if (const Node* const node = section.find("api")) {
    spec.api_limits = parse_keyed_limits(*node, section.path_of("api"), section.context());
  }
}

}  // namespace

std::vector<OverrideSpec> parse_overrides(const Node& node, const std::string& path, const std::string& layer,
                                          Context& context) {
  std::vector<OverrideSpec> out;
  const Section shape(node, path, context);
  if (node.kind != Node::Kind::map) return out;
  out.reserve(node.entries.size());
  for (const Entry& entry : node.entries) {
    OverrideSpec spec;
    spec.value = entry.key;
    const std::string where = join_path(path, entry.key);
    if (layer != "caller" || entry.value.kind != Node::Kind::map) {
      spec.limit = parse_limit(entry.value, where, context);
    } else {
      Section section(entry.value, where, context);
      spec.limit.path = where;
      parse_limit_section(section, spec.limit);
      parse_nested(section, spec);
      section.finish();
      std::size_t nested = section.find("user") != nullptr ? 1 : 0;
      nested += section.find("api") != nullptr ? 1 : 0;
      nested += section.find("from") != nullptr ? 1 : 0;
      nested += section.find("until") != nullptr ? 1 : 0;
      spec.has_own_limit = entry.value.entries.size() > nested;
    }
    spec.limit.at = entry.at;
    out.push_back(std::move(spec));
  }
  return out;
}

}  // namespace weir::config
