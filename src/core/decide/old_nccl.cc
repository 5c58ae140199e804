// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/old_nccl.h"

#include <algorithm>

#include "nccl_env/core/choose/gid_index.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {

bool is_left_to_nccl(Reason omitted) {
  return omitted == Reason::OmittedByPolicy || omitted == Reason::PodGidUnknown ||
         omitted == Reason::PodOwnsDevices;
}

bool is_users(std::string_view reason) {
  constexpr Reason kUsers[] = {Reason::UserSet,        Reason::UserSetGroup, Reason::DisabledByUser,
                               Reason::EnvFromPresent, Reason::ConfPresent,  Reason::ConfOccupied};
  return std::any_of(std::begin(kUsers), std::end(kUsers),
                     [&](Reason users) { return reason == to_string(users); });
}

std::string old_nccl(const Container& container, const NcclVersion& version) {
  const auto said = std::find_if(container.env.rbegin(), container.env.rend(),
                                 [](const EnvEntry& entry) { return entry.name == "NCCL_VERSION"; });
  const bool literal = said != container.env.rend() && said->is_literal();
  const bool given = version < nccl_since::kDynamicGid;
  if (!given && !(literal ? is_before_search(said->value) : has_old_nccl(container.image))) return {};
  return (given     ? "NCCL " + format_nccl_version(version)
          : literal ? "NCCL_VERSION=" + std::string(prefix_of(said->value, 128))
                    : "image " + std::string(prefix_of(container.image, 128))) +
         ": an NCCL before 2.21.5 takes GID index 0 of a RoCE port, and ";
}

std::string search_problem(const Container& container, const NcclPolicy& policy, const NcclVersion& version) {
  const GidIndexRule::Kind kind = index_rule(policy);
  const bool searches = kind == GidIndexRule::Kind::Auto || kind == GidIndexRule::Kind::Dynamic;
  const std::string old = searches && policy.searches_gid() ? old_nccl(container, version) : "";
  return old.empty() ? ""
                     : old + "policy " + policy.name + " counts on its search: write gidIndex: Pin there";
}

}  // namespace nccl_env
