// SPDX-License-Identifier: Apache-2.0
#include "answers.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "nccl_env/core/text/join.h"

namespace nccl_env::listing {
namespace {

constexpr std::size_t kMostNames = 8;

// "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1) for device
// /sys/class/infiniband/bnxt_re0"
bool take_abi(const Line& line, Answers& answers) {
  constexpr std::string_view kSays = " does not support the kernel ABI of ";
  constexpr std::string_view kDriver = "Driver ";
  const std::string_view text = line.text;
  const auto says = text.find(kSays);
  const auto driver = text.find(kDriver);
  if (text.substr(0, 10) != "libibverbs" || says == text.npos || driver >= says) return false;
  const auto slash = text.rfind('/');
  const std::string_view device = slash == text.npos ? "" : trim(text.substr(slash + 1));
  if (is_hca_name(device)) answers.not_supported.emplace(device);
  std::string_view versions = text.substr(says + kSays.size());
  versions = trim(versions.substr(0, versions.find(" for device")));
  constexpr std::string_view kSupports = " (supports ";
  const auto supports = std::min(versions.find(kSupports), versions.size());
  std::string_view of_library = versions.substr(std::min(supports + kSupports.size(), versions.size()));
  of_library = of_library.substr(0, of_library.find(')'));
  const std::string_view name = text.substr(driver + kDriver.size(), says - driver - kDriver.size());
  if (!answers.abi) {
    answers.abi = {line.number, "driver " + printable(name, 60) + " has kernel ABI " +
                                    printable(versions.substr(0, supports), 60) + ", the library supports " +
                                    printable(of_library, 60)};
  }
  return true;
}

void tell_library(const Told& abi, Facts& facts) {
  const std::set<std::string>& devices = facts.answers.not_supported;
  const std::string names =
      devices.empty() ? std::string()
                      : " (" + join_some(std::vector(devices.begin(), devices.end()), kMostNames) + ")";
  const std::string cause = abi.text + ". The image's rdma-core or provider is older than the host's driver";
  if (facts.ports.empty() || facts.answers.no_device) {
    facts.problem(abi.line, "libibverbs opened no device" + names + ": " + cause, Code::LibraryTooOld);
  } else {
    facts.note(abi.line, "libibverbs cannot open" + names + ", left out: " + cause, Code::LibraryTooOld);
  }
}

void tell_not_opened(int line, Facts& facts) {
  const std::size_t count = facts.answers.not_opened_count;
  const std::string devices = count_of(count, "device");
  if (facts.ports.empty()) {
    facts.problem(line, devices + " cannot be opened here, and no other is there", Code::NotOpened);
  } else {
    facts.note(
        line,
        devices + " more " + (count == 1 ? "is" : "are") +
            " there and cannot be opened here: left out. A pod may open what its RDMA resource gives it",
        Code::NotOpened);
  }
}

}  // namespace

bool take_answer(const Line& line, Facts& facts) {
  Answers& answers = facts.answers;
  const std::string_view text = line.text;
  if (text.starts_with("No IB devices found") || text.starts_with("Failed to get IB devices list")) {
    if (!answers.no_device) answers.no_device = line.number;
  } else if (text.starts_with("Failed to open device")) {
    if (!answers.not_opened) answers.not_opened = line.number;
    ++answers.not_opened_count;
  } else if (!take_abi(line, answers)) {
    return false;
  }
  ++answers.count;
  return true;
}

void tell_answers(Facts& facts) {
  const Answers& answers = facts.answers;
  if (answers.abi) return tell_library(*answers.abi, facts);
  if (answers.no_device && !facts.ports.empty())
    return facts.problem(*answers.no_device, "libibverbs found no device here, but the listing shows some");
  if (answers.no_device) {
    return facts.problem(*answers.no_device,
                         "libibverbs found no device here: none was given to the pod, or its image has no "
                         "provider for them",
                         Code::NoDevices);
  }
  if (answers.not_opened) tell_not_opened(*answers.not_opened, facts);
  if (answers.no_gid && facts.ports.empty()) {
    facts.problem(*answers.no_gid,
                  "show_gids found no GID, so no RoCE port has an address in this network namespace, as in a "
                  "pod without its rail's network",
                  Code::NoGidHere);
  }
}

}  // namespace nccl_env::listing
