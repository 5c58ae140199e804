// SPDX-License-Identifier: Apache-2.0
// Parts of answers that a bug report keeps, with counters in place of names and addresses if others read it:
// "name-3", "address-7". Equal ones stay equal within the report, and nothing leads back from them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/kube/client.h"

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

// The plural by which a GET's path names what it asks for: "pods", "nodefabrics"; "version"; "log".
std::string kind_at(std::string_view target);

// A report keeps the fields that nccl-env reads, and those that tell how it runs. Secrets, commands, foreign
// variables and images are never among them (docs/use/troubleshooting.md, Ask for help).
// Returns the body as it is kept: one line of JSON; null for a kind that no report holds, and for a body that
// is not JSON. If `disguise` is given, counters replace names and addresses; in free text, they replace only
// names that already have one.
std::string kept_text(std::string_view target, const kube::Reply& reply, Disguise* disguise = nullptr);

}  // namespace nccl_env::cli
