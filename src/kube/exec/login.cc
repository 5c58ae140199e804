// SPDX-License-Identifier: Apache-2.0
#include "exec/login.h"

#include "credentials.h"
#include "exec/plugin.h"
#include "exec/program.h"

namespace nccl_env::kube {

Result<ExecCredential> Login::ask() const {
  using Interactive = ExecPlugin::Interactive;
  const ExecPlugin& plugin = *config_.exec;
  const bool terminal = plugin.interactive != Interactive::Never && has_terminal();
  if (plugin.interactive == Interactive::Always && !terminal)
    return Error{"interactiveMode is Always, and stdin is not a terminal"};
  const auto ca = read_pem(config_.ca);
  if (!ca) return Error{"certificate authority: " + ca.error().message};
  Program program{plugin.command, plugin.args, plugin.env, terminal};
  program.env.emplace_back("KUBERNETES_EXEC_INFO", exec_info(config_, *ca, terminal));
  const auto output = run_program(program, in_foreground() ? limits_.with_person : limits_.alone, *stop_);
  if (!output) return output.error();
  auto credential = parse_exec_credential(*output, plugin.api_version);
  if (!credential || credential->certificate.empty()) return credential;
  const auto usable = net::ClientTls::make({*ca, credential->certificate, credential->key});
  if (!usable) return usable.error();
  return credential;
}

Result<Login::GrantedPtr> Login::run(Clock::time_point now) {
  if (!problem_.empty() && now < failed_at_ + kRetry) return Error{problem_};
  auto credential = ask();
  if (!credential) {
    const std::string& hint = config_.exec->install_hint;
    problem_ = "credential plugin " + config_.exec->command + ": " + credential.error().message +
               (hint.empty() ? "" : ". " + hint);
    failed_at_ = now;
    log_->warn("credential plugin failed", {{"problem", problem_}});
    return Error{problem_};
  }
  problem_.clear();
  granted_ = std::make_shared<const Granted>(Granted{*std::move(credential), ++runs_});
  return granted_;
}

Result<Login::GrantedPtr> Login::at(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (!granted_) return run(now);
  const auto& expires = granted_->credential.expires;
  if (!expires || now < *expires - kEarly) return granted_;
  const GrantedPtr old = granted_;
  auto fresh = run(now);
  return fresh || now >= *expires ? fresh : old;
}

Result<Login::GrantedPtr> Login::renewed(std::uint64_t used, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (granted_ && granted_->number != used) return granted_;
  return run(now);
}

}  // namespace nccl_env::kube
