// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "cluster/connection.h"
#include "cluster/live_pods.h"
#include "cluster/objects.h"
#include "commands/pod_preview.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/judge/explain/pod_record.h"
#include "nccl_env/judge/nccl_log/log_print.h"
#include "nccl_env/judge/nccl_log/log_verify.h"
#include "nccl_env/judge/nccl_log/nccl_log.h"
#include "nccl_env/judge/nccl_log/rank_logs.h"
#include "nccl_env/program/help_formatter.h"

namespace nccl_env::cli {
namespace {

struct VerifyArguments {
  std::vector<std::string> logs;  // files, of each rank one; or "-", pod/NAME or job/NAME
  ClusterArguments cluster;
  PodLogOptions of_log;
  std::string pod;        // "": the log is compared with nothing
  std::string container;  // "": all
};

constexpr std::string_view kPodPrefix = "pod/", kJobPrefix = "job/";
constexpr int kMostLines = 100'000'000;

bool names(const VerifyArguments& arguments, std::string_view kind) {
  return arguments.logs.size() == 1 && arguments.logs.front().starts_with(kind);
}

// A log of any length, in pieces: only one line stays in memory, and no more of it than the reader takes.
class LogLines {
 public:
  // Progress bars part a line by carriage returns: its parts keep its number.
  void feed(std::string_view part) {
    constexpr std::string_view kEnds = "\r\n";
    for (std::size_t end = part.find_first_of(kEnds); end != part.npos; end = part.find_first_of(kEnds)) {
      add(part.substr(0, end));
      const bool whole = part[end] == '\n';
      if (!line_.empty() || (whole && !begun_)) read(cut_);
      begun_ = begun_ && !whole;
      part.remove_prefix(end + 1);
    }
    add(part);
  }
  const NcclLog& finish() {
    if (!line_.empty()) read(true);  // without its end it may be cut
    return reader_.log();
  }

 private:
  void read(bool cut) {
    begun_ ? reader_.read_rest(line_, cut) : reader_.read_line(line_, cut);
    begun_ = true;
    line_.clear();
    cut_ = false;
  }
  void add(std::string_view part) {
    // A file that was cut under a running job begins with as many NULs as it had bytes.
    for (std::size_t end = 0; !part.empty(); part.remove_prefix(std::min(end + 1, part.size()))) {
      end = std::min(part.find('\0'), part.size());
      const std::size_t room = NcclLogReader::kMaxLine - line_.size();
      cut_ = cut_ || end > room;
      line_.append(part.substr(0, std::min(end, room)));
    }
  }

  NcclLogReader reader_;
  std::string line_;
  bool cut_ = false;
  bool begun_ = false;  // a part of the line was read
};

// UTF-16 in bytes: of other characters than ASCII a '?' is enough. `low`: which byte of a unit is its low
// one.
std::string bytes_of(std::string_view units, std::size_t low) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < units.size(); i += 2) {
    const char c = units[i + low];
    bytes += units[i + 1 - low] == 0 && static_cast<unsigned char>(c) < 128 ? c : '?';
  }
  return bytes;
}

bool read_stream(std::istream& in, NcclLog& into, bool& empty) {
  LogLines lines;
  std::optional<std::size_t> low;  // of UTF-16, which PowerShell's `>` writes with its mark in front
  char block[64 << 10];            // whole units
  for (bool first = true; in.read(block, sizeof block) || in.gcount() > 0; first = false) {
    std::string_view part(block, static_cast<std::size_t>(in.gcount()));
    constexpr std::string_view kUtf8 = "\xef\xbb\xbf";
    if (first && part.starts_with("\xff\xfe")) low = 0;
    if (first && part.starts_with("\xfe\xff")) low = 1;
    if (first && (low || part.starts_with(kUtf8))) part.remove_prefix(low ? 2 : kUtf8.size());
    empty = empty && part.size() < (low ? 2U : 1U);  // half a unit is none
    low ? lines.feed(bytes_of(part, *low)) : lines.feed(part);
  }
  into = lines.finish();
  return !in.bad();
}

program::Failure read_log(const std::string& file, std::istream& in, NcclLog& into) {
  const bool standard = file == "-";
  const std::string name = standard ? "standard input" : file;
  errno = 0;
  std::ifstream stream;
  if (!standard) stream.open(file, std::ios::binary);
  if (!standard && !stream) {
    const bool may_be_pod = errno == ENOENT && is_dns_subdomain(file) && file.find('.') == file.npos;
    return {program::kNotSeen, file + ": " + (errno ? std::strerror(errno) : "cannot be opened") +
                                   (may_be_pod ? "; of the cluster: pod/" + file + " or job/" + file : "")};
  }
  bool empty = true;
  if (!read_stream(standard ? in : stream, into, empty))
    return {program::kNotSeen, name + ": " + (errno ? std::strerror(errno) : "cannot be read")};
  if (!empty) return {};
  return {program::kNothing, name +
                                 ": is empty: the job wrote nothing there. Give the output of one of its "
                                 "ranks (kubectl logs POD, or the file that NCCL_DEBUG_FILE names)"};
}

using Values = std::vector<Value>;

// A log, and what its pod was given.
struct GivenLog {
  std::string name;  // of the pod or file
  NcclLog log{};
  Values values{};
  program::Failure failure{};  // why it could not be read
};

// The values that the pod was given, and its users' own; of one container, if it is named. None of a pod that
// was given nothing, which `remarks` is told.
program::Failure read_values(const Pod& pod, const std::string& where, const std::string& container,
                             const nlohmann::json& object, std::ostream* remarks, Values& into) {
  if (!container.empty() &&
      std::ranges::find(pod.containers, container, &Container::name) == pod.containers.end())
    return {program::kUsage, where + ": the pod has no container " + container};
  auto values = injected_values(pod, container, object);
  if (values) {
    into = *std::move(values);
    return {};
  }
  if (pod.annotation(key::kStatus))
    return {container.empty() ? program::kNotSeen : program::kNothing, where + ": " + values.error().message};
  if (remarks)
    *remarks << "nccl-env: " << printable(where) << ": nothing was injected (no annotation " << key::kStatus
             << "), so only what NCCL's log says is told\n";
  return {};
}

program::Failure read_pod_file(const VerifyArguments& arguments, const Console& terminal, Values& into) {
  const auto documents = program::read_documents(arguments.pod, terminal.in);
  if (!documents) return {program::kNotSeen, documents.error().message};
  std::vector<PodTemplate> found;
  for (const nlohmann::json& document : *documents)
    std::ranges::move(find_pod_templates(document), std::back_inserter(found));
  if (found.size() != 1)
    return {program::kNotSeen,
            arguments.pod + ": must hold one pod, as kubectl get pod NAME -o json prints it; it holds " +
                std::to_string(found.size())};
  ReviewParser parser;
  const Result<Pod> pod = parse_template(parser, found.front());
  if (!pod) return {program::kNotSeen, arguments.pod + ": " + pod.error().message};
  return read_values(*pod, arguments.pod, arguments.container, found.front().pod, &terminal.err, into);
}

// The container whose log is asked for: the one that is named, that was given values, or the only one.
program::Failure choose_container(const Pod& pod, const Values& values, std::string& into) {
  if (!into.empty()) return {};
  std::vector<std::string> found, main;
  for (const Value& value : values) {
    const bool known = !found.empty() && found.back() == value.container;
    if (value.state != State::Users && !known) found.push_back(value.container);
  }
  for (const Container& container : pod.containers) {
    if (container.kind == ContainerKind::Main) main.emplace_back(container.name);
  }
  if (found.empty()) found = main;
  if (found.empty()) return {program::kNothing, "the pod has no containers"};
  if (found.size() > 1)
    return {program::kUsage, "several containers; choose with --container: " + join(found)};
  into = found.front();
  return {};
}

// Reads the log of one container of the pod, and the values that it was given.
program::Failure read_pod_and_log(kube::ApiServer& client, const VerifyArguments& arguments,
                                  const nlohmann::json& object, const PodName& name, const Console& terminal,
                                  GivenLog& into) {
  ReviewParser parser;
  const Result<Pod> pod = parser.parse_pod(dump_json(object));
  if (!pod) return {program::kNotSeen, name.text() + ": " + pod.error().message};
  std::string container = arguments.container;
  std::ostream* const remarks = names(arguments, kPodPrefix) ? &terminal.err : nullptr;
  program::Failure failure = read_values(*pod, name.text(), container, object, remarks, into.values);
  if (!failure) failure = choose_container(*pod, into.values, container);
  if (failure) return failure;
  LogLines lines;
  const auto cut = read_pod_log(client, name, container, arguments.of_log,
                                [&](std::string_view part) { lines.feed(part); });
  if (!cut) return {program::kNotSeen, cut.error().message};
  into.log = lines.finish();
  if (*cut)
    terminal.err << "nccl-env: " << printable(name.text()) << ": only " << arguments.of_log.limit_mib
                 << " MiB of the log were read; --limit reads more, --tail another part\n";
  return {};
}

// The pod, or all pods of the job, each with its log.
program::Failure read_cluster(const VerifyArguments& arguments, const Console& terminal,
                              std::vector<GivenLog>& into) {
  const auto cluster = connect_namespace(arguments.cluster);
  if (!cluster) return {program::kNotSeen, cluster.error().message};
  const std::string& name_space = cluster->name_space;
  const std::string name = arguments.logs.front().substr(kPodPrefix.size());
  const bool of_job = names(arguments, kJobPrefix);
  std::vector<nlohmann::json> pods;
  if (of_job) {
    auto found = list_job_pods(*cluster->client, name_space, name);
    if (!found) return {program::kNotSeen, found.error().message};
    pods = std::move(found->pods);
  } else {
    LookUp pod = look_up(*cluster->client, ask_pod(name_space, name));
    if (pod.outcome != LookUp::Outcome::Found) return {program::kNotSeen, pod.problem};
    pods.push_back(std::move(pod.object));
  }
  for (const nlohmann::json& object : pods) {
    const PodName pod{name_space, of_job ? text_at(member(object, "metadata"), "name") : name};
    into.push_back({.name = pod.name});
    into.back().failure = read_pod_and_log(*cluster->client, arguments, object, pod, terminal, into.back());
  }
  return {};
}

program::Failure read_files(const VerifyArguments& arguments, const Console& terminal,
                            std::vector<GivenLog>& into) {
  for (const std::string& file : arguments.logs) {
    into.push_back({.name = file});
    GivenLog& log = into.back();
    if (!arguments.pod.empty()) log.failure = read_pod_file(arguments, terminal, log.values);
    if (log.failure) return log.failure;
    log.failure = read_log(file, terminal.in, log.log);
    // A rank that wrote nothing stands beside the others as one that is silent.
    if (log.failure && log.failure.code != program::kNothing) return log.failure;
  }
  const bool any = std::ranges::any_of(into, [](const GivenLog& log) { return !log.failure; });
  return any ? program::Failure() : into.front().failure;
}

// Returns what is wrong with the command line; "" if nothing is.
std::string misuse(const VerifyArguments& arguments) {
  const auto& [logs, cluster, of_log, pod, container] = arguments;
  const bool job = names(arguments, kJobPrefix), of_cluster = job || names(arguments, kPodPrefix);
  if (of_cluster) {
    if (!pod.empty()) return "-f: not with pod/NAME or job/NAME, which are read from the cluster";
    return logs.front().size() == kPodPrefix.size() ? logs.front() + "NAME: the name is missing" : "";
  }
  if (cluster.given() || of_log.previous || of_log.tail > 0)
    return "--namespace, --kubeconfig, --context, --previous, --tail: only with pod/NAME or job/NAME; " +
           logs.front() + " is a file";
  if (logs.size() > 1) {
    if (!pod.empty()) return "-f: only with one LOG";
    for (const std::string& log : logs) {
      if (log == "-" || log.starts_with(kPodPrefix) || log.starts_with(kJobPrefix))
        return log + ": several logs have to be files";
    }
  }
  if (logs.front() == "-" && pod == "-") return "LOG and -f: only one of them can be the standard input";
  if (!container.empty() && pod.empty()) return "--container: only with -f, pod/NAME or job/NAME";
  return "";
}

constexpr const char* kNeeds =
    "the job needs NCCL_DEBUG=INFO, and NCCL_DEBUG_FILE writes elsewhere. Without a restart, from NCCL 2.24 "
    "on: ncclras -v in a pod of the job";

// Names the kind of Kubernetes' objects in a file that was given for a log; "" if it holds none.
std::string kind_in(const std::string& file, std::istream& in) {
  const auto documents =
      file == "-" ? Result(std::vector<nlohmann::json>()) : program::read_documents(file, in);
  return documents && !documents->empty() && documents->front().contains("apiVersion")
             ? text_at(documents->front(), "kind")
             : "";
}

// A program that ended before NCCL began has no line of its own there.
std::string needs_of(const NcclLog& log) {
  if (!log.last_error) return kNeeds;
  const std::string& last = log.last_error->text;
  return "no line speaks of the network, and the last error is \"" + last + "\": " +
         (last.find(" seconds waiting for clients") == last.npos
              ? std::string("if the program ended with it, NCCL never began; else ") + kNeeds
              : "not all ranks joined, so NCCL never began. Look how many pods run, and at MASTER_ADDR");
}

int verify_job(std::vector<GivenLog> logs, bool by_hand, const Console& terminal) {
  std::vector<RankLog> ranks;
  for (auto& [name, log, values, failure] : logs) {
    const bool unread = failure && !by_hand;
    LogVerification verification = unread ? LogVerification() : verify_log(log, values);
    ranks.push_back({name, unread ? failure.message : "", std::move(log), std::move(verification), by_hand});
  }
  if (std::ranges::none_of(ranks, [](const RankLog& rank) { return rank.log.speaks(); })) {
    const auto unread =
        std::ranges::find_if(ranks, [](const RankLog& rank) { return !rank.problem.empty(); });
    if (unread != ranks.end()) return stop(terminal, program::kNotSeen, unread->problem);
    return stop(
        terminal, program::kNothing,
        "none of " + count_of(ranks.size(), "log") + " has a line of NCCL's; " + needs_of(ranks.front().log));
  }
  const RanksVerification verification = verify_ranks(ranks);
  print_answer(terminal, verification, ranks);
  return program::code_of(verification.findings);
}

int verify_nccl_log(const VerifyArguments& arguments, const Console& terminal) {
  if (const std::string wrong = misuse(arguments); !wrong.empty())
    return stop(terminal, program::kUsage, wrong);
  const bool of_job = names(arguments, kJobPrefix), of_cluster = of_job || names(arguments, kPodPrefix);
  std::vector<GivenLog> logs;
  program::Failure failure =
      of_cluster ? read_cluster(arguments, terminal, logs) : read_files(arguments, terminal, logs);
  if (failure) return stop(terminal, failure);
  if (of_job || logs.size() > 1) return verify_job(std::move(logs), !of_cluster, terminal);
  if (logs.front().failure) return stop(terminal, logs.front().failure);
  const NcclLog& log = logs.front().log;
  if (log.speaks()) {
    const LogVerification verification = verify_log(log, logs.front().values);
    print_answer(terminal, verification, log);
    return program::code_of(verification.findings);
  }
  const std::string& file = arguments.logs.front();
  if (const std::string kind = of_cluster ? "" : kind_in(file, terminal.in); !kind.empty())
    return stop(terminal, program::kUsage,
                file + ": holds a " + printable(kind) +
                    ", and LOG is what a container printed (kubectl logs). " + "`nccl-env explain -f " +
                    file + "` tells what its pods get; of a pod with its log: -f " + file + " LOG");
  return stop(terminal, program::kNothing,
              file +
                  (log.lines == 0 ? ": the log is empty, so the container wrote nothing yet; "
                                  : ": none of " + count_of(log.lines, "line") + " is known here; ") +
                  needs_of(log));
}

}  // namespace

void add_verify(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"verify",
       "Tell from the log of NCCL, UCX or NVSHMEM what failed in the network, what it means and which value "
       "caused it, and of each value that the pod was given whether it is used (the log needs "
       "NCCL_DEBUG=INFO). Of a job or several logs: all ranks side by side, the odd one first. The first "
       "line is the diagnosis. Exit 1 if something failed, if NCCL fell back to sockets, or if a value is "
       "not used or not the pod's own; 3 if there is nothing to look at; 4 if pod or log cannot be read.",
       "nccl-env verify pod/train-0 -n ml"},
      verify_nccl_log);
  app.add_option("LOG", to.logs,
                 "The log: a file, - for the standard input, pod/NAME or job/NAME for those of the cluster; "
                 "several files are the ranks of a job")
      ->required()
      ->type_name("");
  app.add_option("-f,--filename", to.pod, "The pod, as kubectl get pod -o json or -o yaml prints it")
      ->type_name("FILE");
  app.add_option("-c,--container", to.container,
                 "Container whose values count; default: all, and with pod/NAME the one that has values");
  add_namespace(app, to.cluster);
  app.add_flag("-p,--previous", to.of_log.previous, "The log from before the container's last restart");
  app.add_option("--tail", to.of_log.tail, "Read this many lines from the log's end; default: all lines")
      ->check(CLI::Range(1, kMostLines))
      ->type_name("LINES");
  app.add_option("--limit", to.of_log.limit_mib, "Read at most this much of the log")
      ->check(CLI::Range(1, 4096))
      ->type_name("MIB")
      ->capture_default_str();
  program::group_options(app, "With pod/NAME or job/NAME",
                         {"--namespace", "--previous", "--tail", "--limit", "--kubeconfig", "--context"});
}

}  // namespace nccl_env::cli
