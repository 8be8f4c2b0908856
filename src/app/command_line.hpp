// SPDX-License-Identifier: Apache-2.0
// The command line: one function per command. Exit codes: 0 good, 1 something was found wrong, 2 could not
// run.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace weir::app {

inline constexpr int kGood = 0, kFoundWrong = 1, kCouldNotRun = 2;

// `arguments` are what follows the program's name. Never throws.
int run_command(const std::vector<std::string>& arguments);

// The commands, with the arguments after their name.
int serve_command(const std::vector<std::string>& arguments);
int check_command(const std::vector<std::string>& arguments);
int push_command(const std::vector<std::string>& arguments);
int explain_command(const std::vector<std::string>& arguments);
int simulate_command(const std::vector<std::string>& arguments);
int top_command(const std::vector<std::string>& arguments);
int health_command(const std::vector<std::string>& arguments);
int demo_upstream_command(const std::vector<std::string>& arguments);

// Thrown by the argument parsers with a text for the user; run_command turns it into exit code 2.
struct UsageError {
  std::string text;
};

// Options of a command as name -> values, and what stands outside of them. Knows `-c X`, `--name X`,
// `--name=X` and flags; an unknown option is a UsageError that names the nearest known one.
struct Arguments {
  struct Option {
    std::string name;  // "config"
    char letter = 0;   // 'c', or 0
    bool takes_value = true;
  };
  Arguments(const std::vector<std::string>& arguments, std::vector<Option> known);

  bool has(const std::string& name) const;
  std::string value(const std::string& name, const std::string& fallback) const;  // the last one given
  std::vector<std::string> values(const std::string& name) const;
  std::vector<std::string> rest;

 private:
  std::vector<std::pair<std::string, std::string>> given_;
};

}  // namespace weir::app
