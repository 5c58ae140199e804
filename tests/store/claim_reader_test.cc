// SPDX-License-Identifier: Apache-2.0
// How long a claim that was read is believed, and how many are.
#include "claim_reader.h"

#include <gmock/gmock.h>

#include <sstream>

#include "kube/fake_api.h"
#include "support/patience.h"

namespace nccl_env::store::claim_reader_test {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

const std::string kTemplates = "/apis/resource.k8s.io/v1/namespaces/ml/resourceclaimtemplates";

class Claims : public ::testing::Test {
 protected:
  Claims()
      : client(*kube::Client::make(api.config(), Logger::to_stream(log, LogLevel::Info))), claims(*client) {}

  void put(const std::string& name, const std::string& device_class) {
    Json made{{"kind", "ResourceClaimTemplate"}};
    made["spec"]["spec"]["devices"]["requests"] = {
        {{"name", "nic"}, {"exactly", {{"deviceClassName", device_class}}}}};
    api.put(kTemplates, name, made);
  }
  static ClaimRef ref(const std::string& name) { return {ClaimRef::Kind::Template, "ml", name}; }
  Result<SharedRequests> read(const std::string& name, ClaimReader::Moment at) {
    return tests::read_in_time([&] { return claims.read(ref(name), at); });
  }

  tests::FakeApi api;
  std::ostringstream log;
  std::unique_ptr<kube::Client> client;
  ClaimReader claims;
  const ClaimReader::Moment now = std::chrono::steady_clock::now();
};

TEST_F(Claims, AreBelievedForTenSeconds) {
  put("nics", "rdma");
  ASSERT_TRUE(read("nics", now).ok());
  put("nics", "another");  // gone, and made anew
  EXPECT_EQ(claims.known(ref("nics"), now + 10s)->at(0).classes.at(0), "rdma");
  EXPECT_EQ(claims.known(ref("nics"), now + 11s), nullptr);
  EXPECT_EQ(read("nics", now + 11s).value()->at(0).classes.at(0), "another");
  EXPECT_EQ(claims.known(ref("nics"), now + 11s)->at(0).classes.at(0), "another");
}

TEST_F(Claims, TheOldestGoesWhereThereAreTooMany) {
  put("first", "rdma");
  put("second", "rdma");
  ASSERT_TRUE(read("first", now).ok());
  ASSERT_TRUE(read("second", now + 1s).ok());
  for (std::size_t i = 2; i < ClaimReader::kMaxEntries + 1; ++i) {
    const std::string name = "t" + std::to_string(i);
    put(name, "rdma");
    ASSERT_TRUE(read(name, now + 2s).ok());
  }
  EXPECT_EQ(claims.known(ref("first"), now + 2s), nullptr);
  EXPECT_NE(claims.known(ref("second"), now + 2s), nullptr);
}

TEST_F(Claims, WhatIsNoneOrDoesNotComeIsAnErrorAndNotKept) {
  api.put(kTemplates, "odd", {{"kind", "ResourceClaimTemplate"}, {"spec", 7}});
  EXPECT_EQ(read("odd", now).error().message, "ResourceClaimTemplate ml/odd: spec: must be an object");
  put("slow", "rdma");
  api.hang(kTemplates + "/slow");
  EXPECT_THAT(claims.read(ref("slow"), now).error().message, ::testing::HasSubstr("the deadline is over"));
  for (const char* name : {"odd", "slow"}) EXPECT_EQ(claims.known(ref(name), now), nullptr) << name;
}

}  // namespace
}  // namespace nccl_env::store::claim_reader_test
