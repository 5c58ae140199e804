// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "webhook.h"

int main(int argc, char** argv) {
  const auto parsed = nccl_env::app::parse_webhook_options(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  const nccl_env::Status ran = nccl_env::app::run_webhook(*parsed.options);
  if (ran) return 0;
  std::cerr << "nccl-env-webhook: " << ran.error().message << "\n";
  return 1;
}
