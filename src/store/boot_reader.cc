// SPDX-License-Identifier: Apache-2.0
#include "boot_reader.h"

#include <functional>

#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/kube/paths.h"

namespace nccl_env::store {
namespace {

constexpr std::chrono::milliseconds kNodeDeadline{500};

std::size_t hash_of(std::string_view boot_id) {
  return std::hash<std::string_view>()(boot_id);
}

}  // namespace

Attempt<BootCheck> BootReader::check(std::string_view node, std::string_view boot_id, bool may_wait,
                                     Moment now) {
  if (boot_id.empty() || !is_dns_subdomain(node)) return BootCheck::Unknown;
  const std::size_t wanted = hash_of(boot_id);
  const auto judge = [&](const Boot& boot) {
    return !boot ? BootCheck::Unknown : *boot == wanted ? BootCheck::Same : BootCheck::Other;
  };
  const auto known = recent_.known(node, now, [&](const Boot& boot) {
    return judge(boot) == BootCheck::Other ? kMaxAgeOfOther : kMaxAge;
  });
  if (known) return judge(*known);
  if (paused(now)) return BootCheck::Unknown;
  if (!may_wait) return Postponed{};
  if (!budget_.take(now)) return BootCheck::Unknown;
  const std::string name(node);
  const auto boot = read(name);
  note(boot ? "" : boot.error().message, now);
  if (!boot) return BootCheck::Unknown;
  recent_.keep(name, *boot, now);
  return judge(*boot);
}

bool BootReader::paused(Moment now) const {
  const std::lock_guard lock(mutex_);
  return failed_ && now - *failed_ < kPause;
}

// Logs a problem once, as it may last for good: the right is one that can be taken away.
void BootReader::note(const std::string& problem, Moment now) {
  const std::lock_guard lock(mutex_);
  if (!problem.empty()) failed_ = now;
  if (!problem.empty() && problem != problem_)
    log_->warn("Nodes cannot be read: after a reboot a table counts until it is too old",
               {{"problem", problem}});
  problem_ = problem;
}

// From the server's cache, as the agents do.
Result<BootReader::Boot> BootReader::read(const std::string& node) {
  kube::Call call;
  call.target = path_of(kube::kNodes, node) + "?resourceVersion=0";
  call.deadline = kNodeDeadline;
  const auto reply = client_.call(call);
  if (!reply) return reply.error();
  if (reply->status == kube::kNotFound) return Boot();
  if (reply->status != kube::kOk) return Error{kube::status_message(*reply)};
  const auto object = parse_json(reply->body);
  const std::string boot_id = text_at(member(member(object, "status"), "nodeInfo"), "bootID");
  return boot_id.empty() ? Boot() : Boot(hash_of(boot_id));
}

}  // namespace nccl_env::store
