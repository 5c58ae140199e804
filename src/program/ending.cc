// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/ending.h"

#include <cstdlib>
#include <exception>
#include <iostream>

#include "nccl_env/base/log.h"
#include "nccl_env/program/terminal.h"

namespace nccl_env::program {
namespace {

// Writes at once: no thread has to live on.
void tell(std::string_view message, Logger::Fields fields) {
  Logger::to_stream(std::cerr, LogLevel::Error)->error(message, fields);
}

[[noreturn]] void tell_and_abort() {
  std::string problem = "not an exception, or not one of the standard library's";
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    problem = error.what();
  } catch (...) {  // `problem` says so
  }
  tell("ended by an exception", {{"problem", problem}});
  std::abort();
}

}  // namespace

Error at_option(std::string_view option, const Error& error) {
  return {std::string(option) + ": " + error.message};
}

int end_logged(const Status& ran) {
  if (ran) return kDone;
  tell("could not start", {{"problem", ran.error().message}});
  return EXIT_FAILURE;
}

void log_uncaught_exceptions() {
  std::set_terminate(tell_and_abort);
}

}  // namespace nccl_env::program
