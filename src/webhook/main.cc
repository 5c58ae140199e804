// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/ending.h"
#include "webhook.h"

int main(int argc, char** argv) {
  nccl_env::program::log_uncaught_exceptions();
  const auto parsed = nccl_env::webhook::parse_webhook_options(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  return nccl_env::program::end_logged(nccl_env::webhook::run_webhook(*parsed.options));
}
