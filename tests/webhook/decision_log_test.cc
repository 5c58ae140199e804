// SPDX-License-Identifier: Apache-2.0
#include "decision_log.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace nccl_env::webhook::decision_log_test {
namespace {

// A review comes before the API server looks for containers of one name.
TEST(DecisionLog, NoKeyOfItsObjectsIsRepeated) {
  DecisionRecord record;
  record.omitted = {{{"train", "NCCL_IB_HCA"}, Reason::UserSet},
                    {{"train", "NCCL_IB_HCA"}, Reason::EnvFromPresent},
                    {{"host", "NCCL_IB_HCA"}, Reason::UserSet},
                    {{"host", "NCCL_IB_HCA"}, Reason::NoTable}};
  std::ostringstream out;
  log_decision(*Logger::to_stream(out, LogLevel::Info), record, {});
  std::map<std::string, int> keys;
  const auto line =
      nlohmann::json::parse(out.str(), [&](int, nlohmann::json::parse_event_t event, auto& key) {
        if (event == nlohmann::json::parse_event_t::key) ++keys[key.template get<std::string>()];
        return true;
      });
  for (const auto& [key, count] : keys) EXPECT_EQ(count, 1) << key;
  EXPECT_EQ(line["omitted"],
            (nlohmann::json{{"train/NCCL_IB_HCA", "UserSet"}, {"host/NCCL_IB_HCA", "UserSet"}}));
}

TEST(DecisionLog, ADryRunsLineIsForDebugging) {
  DecisionRecord record;
  record.subject.dry_run = true;
  std::ostringstream info, debug;
  log_decision(*Logger::to_stream(info, LogLevel::Info), record, {});
  log_decision(*Logger::to_stream(debug, LogLevel::Debug), record, {});
  EXPECT_EQ(info.str(), "");
  EXPECT_EQ(nlohmann::json::parse(debug.str())["level"], "debug");
}

}  // namespace
}  // namespace nccl_env::webhook::decision_log_test
