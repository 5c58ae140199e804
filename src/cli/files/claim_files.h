// SPDX-License-Identifier: Apache-2.0
// The claims of pods on the command line: from files, by kind and name.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nccl_env/core/pod/claims.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::app {

class ClaimFiles {
 public:
  // Returns them as the webhook knows them; one that no file holds is not known. Namespaces are not compared:
  // pod templates seldom say theirs.
  [[nodiscard]] PodClaims of(const Pod& pod) const;

 private:
  friend Result<ClaimFiles> read_claims(const std::vector<nlohmann::json>& documents,
                                        const std::vector<std::string>& files, std::istream& in);
  Status add(const std::vector<nlohmann::json>& documents);

  std::map<std::pair<ClaimRef::Kind, std::string>, SharedRequests> claims_;
};

// Reads documents that are parsed already, and files. A claim that is refused, or whose name is given twice,
// refuses all; objects of other kinds are left alone.
Result<ClaimFiles> read_claims(const std::vector<nlohmann::json>& documents,
                               const std::vector<std::string>& files, std::istream& in);

}  // namespace nccl_env::app
