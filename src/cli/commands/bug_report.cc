// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>

#include "check/installed_parts.h"
#include "cluster/bundle.h"
#include "cluster/objects.h"
#include "commands/doctor.h"
#include "commands/explain.h"
#include "nccl_env/base/file.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/kube/list.h"
#include "nccl_env/program/clock.h"
#include "nccl_env/program/version.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

struct BugReportArguments {
  ClusterArguments cluster;
  std::vector<std::string> targets;  // pod/NAME, job/NAME
  std::string file = "nccl-env-report.jsonl";
};

// The most bytes of a report: room for the tables of 8 000 nodes.
constexpr std::size_t kMaxBundle = 64u << 20;

// Runs commands, of which the report keeps what they read, and asks for everything else that shows how
// nccl-env runs.
class Asking {
 public:
  Asking(const Connection& connection, const Console& terminal)
      : recorder_(std::make_shared<RecordingServer>(connection.client, bundle_)),
        console_{{terminal.in, answer_, terminal.err}, "json"} {
    bundle_.program = program::kVersion;
    bundle_.server = connection.client->server();
    bundle_.name_space = connection.name_space;
    cluster_.instead = recorder_;
    cluster_.name_space = connection.name_space;
  }

  // `of_namespace`: the namespace was given, and counts whether it is opted in or not.
  Bundle record(Timestamp now, bool of_namespace, const std::vector<std::string>& targets) {
    bundle_.at = now;
    run_doctor(false, "");
    run_doctor(true, "");
    if (of_namespace) run_doctor(true, bundle_.name_space);
    for (const std::string& target : targets) run_explain(target);
    ask_installation();
    return std::move(bundle_);
  }
  // Targets that could not be explained, such as a pod that is not there.
  [[nodiscard]] const std::vector<std::string>& unexplained() const { return unexplained_; }

 private:
  // Keeps the findings of a command, each once. Returns false where the command could not look.
  bool note(int code) {
    const Json answer = parse_json(answer_.str());
    answer_.str({});
    if (code == program::kNotSeen || code == program::kUsage) return false;
    for (const Json& finding : items_at(answer, "findings")) {
      if (told_.insert(finding).second) bundle_.findings.push_back(finding);
    }
    return true;
  }

  void run_doctor(bool pods, const std::string& name_space) {
    DoctorArguments asked;
    asked.diagnosis.source.cluster = cluster_;
    asked.diagnosis.at = format_timestamp(bundle_.at);
    asked.pods = pods;
    asked.name_space = name_space;
    (void)note(diagnose_cluster(asked, console_));
  }

  void run_explain(const std::string& target) {
    ExplainArguments asked;
    asked.target = {target};
    asked.cluster = cluster_;
    asked.at = format_timestamp(bundle_.at);
    if (!note(explain_target(asked, console_))) unexplained_.push_back(target);
  }

  void ask_installation() {
    (void)look_up(*recorder_, {"/version", ""});  // the report shows a missing right
    std::string place;
    for (const kube::Resource& hooks : {kMutatingHooks, kValidatingHooks}) {
      const std::string found = service_namespace(look_up(*recorder_, ask(hooks, "nccl-env")).object);
      if (!found.empty()) place = found;
    }
    if (!is_dns_subdomain(place)) return;
    (void)look_up(*recorder_, ask_in(place, kube::kDeployments, kWebhookName));
    for (const std::string& space :
         {place, agent_namespace(*recorder_, place)}) {  // its list has the DaemonSet
      (void)kube::list_all(*recorder_, path_in(space, kube::kEvents), [](const Json&) {});
      (void)kube::list_all(*recorder_, path_in(space, kube::kPods), [](const Json&) {});
    }
  }

  Bundle bundle_;
  std::shared_ptr<RecordingServer> recorder_;
  ClusterArguments cluster_;
  std::set<Json> told_;
  std::vector<std::string> unexplained_;
  std::ostringstream answer_;
  const Console console_;
};

// Answers that hold no object: refusals and failures.
std::ptrdiff_t count_refused(const Bundle& bundle) {
  return std::ranges::count_if(bundle.answers,
                               [](const auto& answer) { return answer.second.status != kube::kOk; });
}

void tell(const Bundle& bundle, const std::string& file, std::ostream& out) {
  out << printable(file) << " holds what was read of " << printable(bundle.server) << ":\n";
  for (const auto& [kind, count] : bundle.kinds()) out << "  " << count << " " << printable(kind) << '\n';
  if (const auto refused = count_refused(bundle); refused > 0)
    out << "  " << refused << " refusals and failures\n";
  out << "It has no secrets, commands, images of others or variables but those of NCCL and its kin.\n"
         "Names and addresses are real: look into the report before you send it.\n";
}

std::string problem_of_target(const std::string& target) {
  const std::size_t slash = target.find('/');
  const std::string kind = target.substr(0, slash);
  if ((kind == "pod" || kind == "job") && slash != target.npos && is_dns_subdomain(target.substr(slash + 1)))
    return {};
  return target + ": must be pod/NAME or job/NAME";
}

int write_bug_report(const BugReportArguments& arguments, const Console& terminal) {
  const auto& [cluster, targets, file] = arguments;
  const auto connection = connect_namespace(cluster);
  if (!connection) return stop(terminal, program::kNotSeen, connection.error().message);
  Asking asking(*connection, terminal);
  const Bundle bundle = asking.record(program::clock_now(), !cluster.name_space.empty(), targets);
  if (count_refused(bundle) == std::ssize(bundle.answers))
    return stop(terminal, program::kNotSeen, "no answer came to be kept, so no report is written");
  const std::string text = render_bundle(bundle);
  if (text.size() > kMaxBundle)
    return stop(terminal, program::kNotSeen,
                "the report would be larger than " + std::to_string(kMaxBundle >> 20) + " MiB");
  if (const Status written = write_file(file, text, 0600); !written)
    return stop(terminal, program::kNotSeen, written.error().message);
  tell(bundle, file, terminal.out);
  if (asking.unexplained().empty()) return program::kDone;
  return stop(terminal, program::kFinding, "the report is without " + join(asking.unexplained()));
}

}  // namespace

void add_bug_report(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"bug-report",
       "Write one file with all that others need to help you. It holds what doctor, doctor --pods and "
       "explain read of the cluster, and how nccl-env runs. The command says what it has written. Exit 1 if "
       "it is without a TARGET.",
       "nccl-env bug-report pod/train-0 -n ml",
       {}},
      write_bug_report);
  add_namespace(app, to.cluster);
  app.add_option("TARGET", to.targets, "pod/NAME or job/NAME of the namespace, to explain")
      ->type_name("")
      ->check(problem_of_target);
  app.add_option("-o,--output", to.file, "The file to write")->type_name("FILE")->capture_default_str();
}

}  // namespace nccl_env::cli
