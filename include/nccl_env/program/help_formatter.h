// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>

namespace nccl_env::program {

// Formats --help of all programs: lines of 80 columns, choices as a|b, a command with the first sentence of
// its description.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_option_usage(const CLI::Option* option) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

// Puts options, which must have been added, under a title of --help.
void group_options(CLI::App& app, const char* title, std::initializer_list<const char*> names);

// Adds -V,--version, which prints "PROGRAM VERSION".
void add_version(CLI::App& app, const std::string& program);

}  // namespace nccl_env::program
