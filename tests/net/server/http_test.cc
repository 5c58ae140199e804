// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/server/http.h"

#include <gtest/gtest.h>

namespace nccl_env::net::http_test {
namespace {

TEST(ErrorResponse, IsAsciiWhateverTheSentenceHolds) {
  EXPECT_EQ(error_response(400,
                           "\xc2\x9b"
                           "31m \xe2\x80\xae \xff \x1b")
                .body,
            "{\"error\":\"\\u009b31m \\u202e \\ufffd \\u001b\"}\n");
}

}  // namespace
}  // namespace nccl_env::net::http_test
