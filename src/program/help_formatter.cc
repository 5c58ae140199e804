// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/help_formatter.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>

#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/program/version.h"

namespace nccl_env::program {
namespace {

bool takes_several(const CLI::Option& option) {
  return option.get_expected_max() >= CLI::detail::expected_max_vector_size;
}

std::string wrapped(const std::string& text, std::size_t width) {
  return join(wrap(text, width), "\n");
}

// CLI11 appends a check's description to its name, or to the C++ type where it
// has none: "TEXT:{text,json}", "INT:INT in [0 - 256]", "LINES:POSITIVE".
std::string value_name(const CLI::Option& option) {
  std::string type = option.get_type_name();
  const std::size_t colon = type.find(':');
  const std::string check = colon == type.npos ? "" : type.substr(colon + 1);
  if (check.starts_with('{')) {
    type = check.substr(1, check.size() - 2);
    std::replace(type.begin(), type.end(), ',', '|');
    return type;
  }
  const auto is_plain = [](const std::string& word) {
    constexpr std::array<std::string_view, 8> kPlain{"",      "TEXT",   "INT",      "UINT",
                                                     "FLOAT", "NUMBER", "POSITIVE", "NONNEGATIVE"};
    return std::ranges::find(kPlain, word) != kPlain.end();
  };
  std::string named = type.substr(0, colon);
  const std::string checked = check.substr(0, check.find(' '));
  if (!is_plain(checked)) return is_plain(named) ? checked : type;  // ADDR:PORT
  if (!is_plain(named)) return named;
  return named.empty() ? "" : named == "TEXT" ? "WORD" : "N";
}

std::string first_sentence(const std::string& text) {
  for (std::size_t dot = text.find('.'); dot != text.npos; dot = text.find('.', dot + 1)) {
    if (dot + 1 == text.size() || text[dot + 1] == ' ') return text.substr(0, dot);
  }
  return text;
}

}  // namespace

// CLI11 puts an empty line behind each group of options and another one before the next.
std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
  for (std::size_t at = 0; (at = help.find("\n\n\n", at)) != std::string::npos;) help.erase(at, 1);
  return help;
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  std::string usage = CLI::Formatter::make_usage(app, std::move(name));
  return usage.ends_with("SUBCOMMAND\n") ? usage.replace(usage.size() - 11, 10, "COMMAND") : usage;
}

// CLI11's notation for a flag that switches something off is "--no-verbs{false}".
std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  const std::string name = CLI::Formatter::make_option_name(option, is_positional);
  return name.substr(0, name.find('{'));
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return {};  // a flag
  const std::string type = value_name(*option);
  return (type.empty() ? "" : " " + type) + (takes_several(*option) ? "..." : "");
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::string text = option->get_description();
  if (option->get_required() && option->nonpositional()) text += " (required)";
  if (!option->get_default_str().empty()) text += " [" + option->get_default_str() + "]";
  return wrapped(text, kTextWidth - column_width_);
}

std::string HelpFormatter::make_option_usage(const CLI::Option* option) const {
  const std::string name = make_option_name(option, true) + (takes_several(*option) ? "..." : "");
  return option->get_required() ? name : "[" + name + "]";
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return wrapped(app->get_description(), kTextWidth) + "\n";
}

// Names what is below a command, too: "table import|show".
std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  std::string name = command->get_display_name(true);
  char before = ' ';
  for (const CLI::App* below : command->get_subcommands([](const CLI::App*) { return true; })) {
    name += std::exchange(before, '|') + below->get_name();
  }
  std::ostringstream out;
  CLI::detail::format_help(out, name,
                           wrapped(first_sentence(command->get_description()), kTextWidth - column_width_),
                           column_width_);
  return out.str();
}

void group_options(CLI::App& app, const char* title, std::initializer_list<const char*> names) {
  for (const char* name : names) app.get_option(name)->group(title);
}

void add_version(CLI::App& app, const std::string& program) {
  app.set_version_flag("-V,--version", program + " " + std::string(kVersion), "Print the version and exit");
}

}  // namespace nccl_env::program
