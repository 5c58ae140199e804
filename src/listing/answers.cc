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
    answers.abi = {"driver " + printable(name, 60) + " has kernel ABI " +
                       printable(versions.substr(0, supports), 60) + ", the library supports " +
                       printable(of_library, 60),
                   line.place};
  }
  return true;
}

// Takes out the ports of devices that are `unusable`, and returns the names of these devices.
template <class Unusable>
std::set<std::string> take_out(std::vector<Port>& ports, const Unusable& unusable) {
  std::set<std::string> names;
  std::erase_if(ports, [&](const Port& port) {
    if (!unusable(port.hca)) return false;
    names.insert(port.hca);
    return true;
  });
  return names;
}

std::string names_text(const std::set<std::string>& names) {
  return names.empty() ? std::string()
                       : " (" + join_some(std::vector(names.begin(), names.end()), kMostNames) + ")";
}

void apply_library(const Stated<std::string>& abi, Facts& facts, std::vector<Port>& ports) {
  const Answers& answers = facts.answers;
  const bool opens_none = answers.opened.empty();
  std::set<std::string> names = take_out(
      ports, [&](const std::string& hca) { return opens_none || answers.not_supported.contains(hca); });
  names.insert(answers.not_supported.begin(), answers.not_supported.end());
  const std::string cause = abi.value + ". The image's rdma-core or provider is older than the host's driver";
  if (opens_none) {
    facts.problem(abi.place, "libibverbs opened no device" + names_text(names) + ": " + cause,
                  Code::LibraryTooOld);
  } else {
    facts.note(abi.place, "libibverbs cannot open" + names_text(names) + ", left out: " + cause,
               Code::LibraryTooOld);
  }
}

void apply_not_opened(const Place& place, Facts& facts, std::vector<Port>& ports) {
  const Answers& answers = facts.answers;
  const std::set<std::string> names =
      take_out(ports, [&](const std::string& hca) { return !answers.opened.contains(hca); });
  const int count = std::max(answers.not_opened_count, static_cast<int>(names.size()));
  const std::string devices = count_of(static_cast<std::size_t>(count), "device");
  if (answers.opened.empty()) {
    facts.problem(place, devices + names_text(names) + " cannot be opened here, and no other is there",
                  Code::NotOpened);
  } else {
    facts.note(
        place,
        devices + names_text(names) + " more " + (count == 1 ? "is" : "are") +
            " there and cannot be opened here: left out. A pod may open what its RDMA resource gives it",
        Code::NotOpened);
  }
}

}  // namespace

bool take_answer(const Line& line, Facts& facts) {
  Answers& answers = facts.answers;
  const std::string_view text = line.text;
  if (text.starts_with("No IB devices found") || text.starts_with("Failed to get IB devices list")) {
    if (!answers.no_device) answers.no_device = line.place;
  } else if (text.starts_with("Failed to open device")) {
    if (!answers.not_opened) answers.not_opened = line.place;
    ++answers.not_opened_count;
  } else if (!take_abi(line, answers)) {
    return false;
  }
  ++answers.count;
  return true;
}

void apply_answers(Facts& facts, std::vector<Port>& ports) {
  const Answers& answers = facts.answers;
  if (answers.no_device && !answers.opened.empty()) {
    return facts.problem(*answers.no_device, "libibverbs found no device here, but ibv_devinfo shows" +
                                                 names_text(answers.opened));
  }
  if (answers.abi) return apply_library(*answers.abi, facts, ports);
  if (answers.no_device) {
    const std::set<std::string> names = take_out(ports, [](const std::string&) { return true; });
    return facts.problem(*answers.no_device,
                         "libibverbs found no device here" +
                             (names.empty() ? "" : ", though the kernel has some" + names_text(names)) +
                             ": none was given to the pod, or its image has no provider for them",
                         Code::NoDevices);
  }
  if (answers.not_opened) apply_not_opened(*answers.not_opened, facts, ports);
  if (answers.no_gid && ports.empty()) {
    facts.problem(*answers.no_gid,
                  "show_gids found no GID, so no RoCE port has an address in this network namespace, as in a "
                  "pod without its rail's network",
                  Code::NoGidHere);
  }
}

}  // namespace nccl_env::listing
