// SPDX-License-Identifier: Apache-2.0
#include "cluster/objects.h"

#include <gtest/gtest.h>

namespace nccl_env::dry_run_test {
namespace {

using cli::Refuser;

TEST(Refusers, AreKnownByTheApiServersSentence) {
  const std::pair<const char*, Refuser> sentences[] = {
      {"pods \"p\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0",
       Refuser::Quota},
      {"pods \"p\" is forbidden: failed quota: q: must specify limits.cpu for: sample", Refuser::Quota},
      {"pods \"p\" is forbidden: maximum cpu usage per Container is 500m, but limit is 1",
       Refuser::LimitRange},
      {"pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true",
       Refuser::PodSecurity},
      {"pods \"p\" is forbidden: ValidatingAdmissionPolicy 'images' with binding 'all' denied request: no",
       Refuser::Policy},
      {"admission webhook \"images.example.com\" denied the request: exceeded quota of patience",
       Refuser::Webhook},
      {"pods \"p\" is forbidden: User \"u\" cannot create resource \"pods\" in API group \"\"",
       Refuser::Rights},
  };
  for (const auto& [sentence, refuser] : sentences)
    EXPECT_EQ(cli::refuser_of(403, sentence), refuser) << sentence;
  EXPECT_EQ(cli::refuser_of(500, "Internal error occurred: failed calling webhook \"x\""), Refuser::Webhook);
  EXPECT_EQ(
      cli::refuser_of(500, "Internal error occurred: failed calling webhook \"strict-pods.nccl-env.io\""),
      Refuser::Silence);
  EXPECT_EQ(cli::refuser_of(422, "Pod \"p\" is invalid: spec"), Refuser::Validation);
  EXPECT_EQ(cli::refuser_of(409, ""), Refuser::Other);
}

}  // namespace
}  // namespace nccl_env::dry_run_test
