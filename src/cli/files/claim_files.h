// SPDX-License-Identifier: Apache-2.0
// The claims of pods on the command line: from files, by kind and name.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nccl_env/core/pod/claims.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::cli {

class ClaimFiles {
 public:
  // Returns the pod's claims as the webhook knows them; a claim that no file holds is not known. Namespaces
  // are not compared: pod templates seldom name theirs.
  [[nodiscard]] PodClaims of(const Pod& pod) const;

 private:
  friend Result<ClaimFiles> read_claims(const std::vector<nlohmann::json>& documents,
                                        const std::vector<std::string>& files, std::istream& in);
  Status add(const std::vector<nlohmann::json>& documents);

  std::map<std::pair<ClaimRef::Kind, std::string>, SharedRequests> claims_;
};

// Reads documents that are parsed already, and files. Fails if a claim is refused or a name is given twice;
// objects of other kinds are left alone.
Result<ClaimFiles> read_claims(const std::vector<nlohmann::json>& documents,
                               const std::vector<std::string>& files, std::istream& in);

}  // namespace nccl_env::cli
