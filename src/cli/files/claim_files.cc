// SPDX-License-Identifier: Apache-2.0
#include "files/claim_files.h"

#include "nccl_env/store/manifests.h"

namespace nccl_env::cli {

PodClaims ClaimFiles::of(const Pod& pod) const {
  PodClaims claims;
  for (const PodClaim& claim : pod.claims) {
    const ClaimRef ref = claim_ref(claim, pod.name_space);
    const auto found = claims_.find({ref.kind, ref.name});
    if (found != claims_.end()) {
      claims.entries.push_back({found->second, {}});
    } else {
      claims.entries.push_back({nullptr, std::string(to_string(ref.kind)) + " " + ref.name +
                                             " is in none of the files (--claims, --pod)"});
    }
  }
  return claims;
}

Status ClaimFiles::add(const std::vector<nlohmann::json>& documents) {
  store::Objects objects;
  for (const nlohmann::json& document : documents) store::add_object(document, {}, objects);
  for (const store::Objects::Problem& problem : objects.problems) {
    if (problem.kind.starts_with("ResourceClaim")) return Error{problem.sentence};
  }
  for (store::Objects::NamedClaim& claim : objects.claims) {
    if (!claims_.try_emplace({claim.ref.kind, claim.ref.name}, std::move(claim.requests)).second)
      return Error{std::string(to_string(claim.ref.kind)) + " " + claim.ref.name + " is given twice"};
  }
  return done();
}

Result<ClaimFiles> read_claims(const std::vector<nlohmann::json>& documents,
                               const std::vector<std::string>& files, std::istream& in) {
  ClaimFiles claims;
  if (const Status added = claims.add(documents); !added) return added.error();
  for (const std::string& file : files) {
    const auto read = program::read_documents(file, in);
    if (!read) return read.error();
    const std::size_t before = claims.claims_.size();
    if (const Status added = claims.add(*read); !added) return Error{file + ": " + added.error().message};
    if (claims.claims_.size() == before)
      return Error{file + ": holds neither a ResourceClaim nor a ResourceClaimTemplate"};
  }
  return claims;
}

}  // namespace nccl_env::cli
