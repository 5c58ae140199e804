// SPDX-License-Identifier: Apache-2.0
// Counters in place of the names and addresses in a bug report that others read: "name-3", "address-7". Equal
// ones stay equal within the report, and nothing leads back from them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace nccl_env::cli {

// For one report and one thread.
class Disguise {
 public:
  // Replaces the name of a node, namespace, policy, pod or owner. Names of Kubernetes and of nccl-env stay.
  // From then on text() replaces the name, too.
  std::string name(const std::string& real);
  // The text with counters for the addresses, prefixes, GIDs and GUIDs in it. A prefix keeps its length; an
  // address has the same counter in each of its forms.
  std::string addresses(std::string_view text);
  // Does the same, and also replaces known names, and words in double quotes that have no blank.
  std::string text(std::string_view text);

 private:
  enum class Words { Addresses, All };
  using Counters = std::map<std::string, std::string, std::less<>>;
  std::string replaced(std::string_view text, Words words);
  std::string word(std::string_view word, Words words, bool in_quotes);
  std::optional<std::string> whole(std::string_view word, Words words);
  std::optional<std::string> address(std::string_view word);
  static std::string counted(const std::string& kind, const std::string& real, Counters& counters);

  Counters names_, addresses_, local_addresses_, guids_;
};

}  // namespace nccl_env::cli
