// SPDX-License-Identifier: Apache-2.0
// Pseudonyms for names and addresses in a bug report that others read. With one key, equal names stay equal;
// without the key nobody can find out the real ones, not even by trying. Decisions stay the same: addresses
// share as many leading bits as before, and keep their class.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "nccl_env/core/fabric/gid.h"

namespace nccl_env::cli {

// For one thread.
class Pseudonyms {
 public:
  explicit Pseudonyms(std::string key) : key_(std::move(key)) {}

  // Gives a node, namespace, policy, pod or owner another name: "n-" and twelve hex digits. Names of
  // Kubernetes and of nccl-env stay. From then on text() replaces the name, too.
  std::string name(const std::string& real);
  // Replaces the token of a list's next page. From then on target() replaces the token, too.
  std::string page(const std::string& token);
  // The text with pseudonyms for the addresses, prefixes, GIDs and GUIDs in it.
  std::string addresses(std::string_view text);
  // Does the same, and also replaces known names, and words in double quotes that have no blank.
  std::string text(std::string_view text);
  // Replaces the names in a command: "explain pod/NAME -n NAMESPACE".
  std::string command(const std::string& command);
  // A GET's path and query.
  std::string target(std::string_view target);

 private:
  enum class Words { Addresses, All };
  std::string replaced(std::string_view text, Words words);
  bool whole(std::string_view word, Words words, std::string& into);
  std::string word(std::string_view word, Words words, bool in_quotes);
  [[nodiscard]] std::string hashed(std::string_view purpose, std::string_view real) const;
  bool address(std::string_view word, std::string& into);
  IpAddress pseudonym_of(const IpAddress& real);
  template <class Bytes>
  void flip(Bytes& bytes, std::size_t kept, std::string_view purpose) const;

  const std::string key_;
  std::map<std::string, std::string, std::less<>> names_, addresses_, pages_;
};

}  // namespace nccl_env::cli
