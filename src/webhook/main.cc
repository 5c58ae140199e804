// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/ending.h"
#include "webhook.h"

int main(int argc, char** argv) {
  nccl_env::app::log_uncaught_exceptions();
  const auto parsed = nccl_env::app::parse_webhook_options(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  return nccl_env::app::end_logged(nccl_env::app::run_webhook(*parsed.options));
}
