// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cluster/connection.h"
#include "cluster/objects.h"
#include "commands/pod_preview.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/explain/pod_record.h"
#include "nccl_env/core/nccl_log/log_verify.h"
#include "nccl_env/core/nccl_log/nccl_log.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/program/help_formatter.h"

namespace nccl_env::cli {
namespace {

struct VerifyArguments {
  std::string log;  // a file, "-", or pod/NAME
  ClusterArguments cluster;
  PodLogOptions of_log;
  std::string pod;        // "": the log is compared with nothing
  std::string container;  // "": all
};

constexpr std::string_view kPodPrefix = "pod/";

// A log of any length, in pieces: only one line stays in memory, and no more of it than the reader takes.
class LogLines {
 public:
  explicit LogLines(NcclLogReader& reader) : reader_(reader) {}

  void feed(std::string_view part) {
    for (std::size_t end = part.find('\n'); end != part.npos; end = part.find('\n')) {
      add(part.substr(0, end));
      reader_.read_line(line_, cut_);
      line_.clear();
      cut_ = false;
      part.remove_prefix(end + 1);
    }
    add(part);
  }
  void finish() {
    if (!line_.empty()) reader_.read_line(line_, true);  // without its end it may be cut
  }

 private:
  void add(std::string_view part) {
    const std::size_t room = NcclLogReader::kMaxLine - line_.size();
    cut_ = cut_ || part.size() > room;
    line_.append(part.substr(0, room));
  }

  NcclLogReader& reader_;
  std::string line_;
  bool cut_ = false;
};

bool read_stream(std::istream& in, NcclLogReader& reader) {
  LogLines lines(reader);
  char block[64 << 10];
  while (in.read(block, sizeof block) || in.gcount() > 0)
    lines.feed({block, static_cast<std::size_t>(in.gcount())});
  lines.finish();
  return !in.bad();
}

program::Failure read_log(const std::string& file, std::istream& in, NcclLogReader& reader) {
  if (file == "-")
    return read_stream(in, reader) ? program::Failure()
                                   : program::Failure{program::kNotSeen, "standard input: cannot be read"};
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return {program::kNotSeen, file + ": " + (errno ? std::strerror(errno) : "cannot be opened")};
  if (read_stream(stream, reader)) return {};
  return {program::kNotSeen, file + ": " + (errno ? std::strerror(errno) : "cannot be read")};
}

using Values = std::vector<Value>;

// The values that the pod was given; of one container, if it is named.
program::Failure read_values(const Pod& pod, const std::string& where, const std::string& container,
                             const nlohmann::json& object, Values& into) {
  if (!container.empty() &&
      std::ranges::find(pod.containers, container, &Container::name) == pod.containers.end())
    return {program::kUsage, where + ": the pod has no container " + container};
  auto values = injected_values(pod, container, object);
  if (!values)
    return {container.empty() ? program::kNotSeen : program::kNothing, where + ": " + values.error().message};
  into = *std::move(values);
  return {};
}

program::Failure read_pod_file(const VerifyArguments& arguments, const Console& terminal, Values& into) {
  std::vector<std::string> remarks;
  const auto documents = program::read_manifests(arguments.pod, terminal.in, remarks);
  if (!documents) return {program::kNotSeen, documents.error().message};
  for (const std::string& remark : remarks) terminal.err << "nccl-env: " << remark << '\n';
  std::vector<PodTemplate> found;
  for (const nlohmann::json& document : *documents) {
    for (PodTemplate& pod : find_pod_templates(document)) found.push_back(std::move(pod));
  }
  if (found.size() != 1)
    return {program::kNotSeen,
            arguments.pod + ": must hold one pod, as kubectl get pod NAME -o json prints it; it holds " +
                std::to_string(found.size())};
  ReviewParser parser;
  const Result<Pod> pod = parse_template(parser, found.front());
  if (!pod) return {program::kNotSeen, arguments.pod + ": " + pod.error().message};
  program::Failure failure = read_values(*pod, arguments.pod, arguments.container, found.front().pod, into);
  if (failure.code == program::kNotSeen && !pod->annotation(key::kStatus)) failure.code = program::kNothing;
  return failure;
}

// The container whose log is asked for: the one that is named, that was given values, or the only one.
program::Failure choose_container(const Pod& pod, const Values& values, std::string& into) {
  std::vector<std::string> names;
  for (const Value& value : values) {
    if (names.empty() || names.back() != value.container) names.push_back(value.container);
  }
  for (const Container& container : pod.containers) {
    if (values.empty() && container.kind == ContainerKind::Main) names.emplace_back(container.name);
  }
  if (names.size() == 1) {
    into = names.front();
    return {};
  }
  if (names.empty()) return {program::kNothing, "the pod has no containers"};
  return {program::kUsage, "several containers; choose with --container: " + join(names)};
}

// The values of one container of the pod, and which one.
program::Failure find_values(const nlohmann::json& object, const PodName& name, const Console& terminal,
                             std::string& container, Values& into) {
  ReviewParser parser;
  const Result<Pod> pod = parser.parse_pod(dump_json(object));
  if (!pod) return {program::kNotSeen, name.text() + ": " + pod.error().message};
  program::Failure failure = read_values(*pod, name.text(), container, object, into);
  if (failure.code == program::kUsage || (failure && pod->annotation(key::kStatus))) return failure;
  if (failure) {
    terminal.err << "nccl-env: " << printable(name.text()) << ": nothing was injected (no annotation "
                 << key::kStatus << "), so only what NCCL's log says is told\n";
  }
  if (container.empty()) return choose_container(*pod, into, container);
  return {};
}

program::Failure read_cluster(const VerifyArguments& arguments, const Console& terminal,
                              NcclLogReader& reader, Values& into) {
  const auto cluster = connect_namespace(arguments.cluster);
  if (!cluster) return {program::kNotSeen, cluster.error().message};
  const PodName name{cluster->name_space, arguments.log.substr(kPodPrefix.size())};
  const LookUp pod = look_up(*cluster->client, ask_pod(name.name_space, name.name));
  if (pod.outcome != LookUp::Outcome::Found) return {program::kNotSeen, pod.problem};
  std::string container = arguments.container;
  if (program::Failure failure = find_values(pod.object, name, terminal, container, into)) return failure;
  LogLines lines(reader);
  const auto cut = read_pod_log(*cluster->client, name, container, arguments.of_log,
                                [&](std::string_view part) { lines.feed(part); });
  if (!cut) return {program::kNotSeen, cut.error().message};
  lines.finish();
  if (*cut)
    terminal.err << "nccl-env: only " << arguments.of_log.limit_mib
                 << " MiB of the log were read; --limit reads more, --tail another part\n";
  return {};
}

bool is_pod(const VerifyArguments& arguments) {
  return arguments.log.starts_with(kPodPrefix);
}

// Returns what is wrong with the command line; "" if nothing is.
std::string misuse(const VerifyArguments& arguments) {
  const auto& [log, cluster, of_log, pod, container] = arguments;
  if (is_pod(arguments)) {
    if (!pod.empty()) return "--pod: not with pod/NAME, which is read from the cluster";
    return log == kPodPrefix ? "pod/NAME: the name is missing" : "";
  }
  if (cluster.given() || of_log.previous || of_log.tail > 0)
    return "--namespace, --kubeconfig, --context, --previous, --tail: only with pod/NAME; " + log +
           " is a file";
  if (log == "-" && pod == "-") return "LOG and --pod: only one of them can be the standard input";
  if (!container.empty() && pod.empty()) return "--container: only with --pod or pod/NAME";
  return "";
}

int verify_nccl_log(const VerifyArguments& arguments, const Console& terminal) {
  if (const std::string wrong = misuse(arguments); !wrong.empty())
    return stop(terminal, program::kUsage, wrong);
  NcclLogReader reader;
  Values values;
  program::Failure failure;
  if (is_pod(arguments)) {
    failure = read_cluster(arguments, terminal, reader, values);
  } else {
    if (!arguments.pod.empty()) failure = read_pod_file(arguments, terminal, values);
    if (!failure) failure = read_log(arguments.log, terminal.in, reader);
  }
  if (failure) return stop(terminal, failure);
  const NcclLog& log = reader.log();
  if (log.nccl_lines == 0)
    return stop(terminal, program::kNothing,
                arguments.log + ": none of " + std::to_string(log.lines) +
                    " lines is NCCL's; the job needs NCCL_DEBUG=INFO, and NCCL_DEBUG_FILE writes elsewhere");
  const LogVerification verification = verify_log(log, values);
  print_answer(terminal, verification, log);
  return program::code_of(verification.findings);
}

}  // namespace

void add_verify(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"verify",
       "Tell from NCCL's log whether it uses what the pod was given. For each value: whether it is "
       "used, overridden, contradicted, failed or not seen yet (the log needs NCCL_DEBUG=INFO). For each "
       "failure: what it means and which value caused it. And whether NCCL fell back to sockets. Exit 1 "
       "if it did, if something failed, or if a value is not used or not the pod's own; 3 if "
       "there is nothing to look at; 4 if pod or log cannot be read.",
       "nccl-env verify pod/train-0 -n ml"},
      verify_nccl_log);
  app.add_option("LOG", to.log,
                 "The log: a file, - for the standard input, or pod/NAME for a pod of the cluster")
      ->required()
      ->type_name("");
  app.add_option("--pod", to.pod, "The pod, as kubectl get pod -o json or -o yaml prints it")
      ->type_name("FILE");
  app.add_option("-c,--container", to.container,
                 "Container whose values count; default: all, and with pod/NAME the one that has values");
  const auto of_cluster = [&](CLI::Option* option) {
    option->group("With pod/NAME");
    return option;
  };
  of_cluster(&add_namespace(app, to.cluster));
  of_cluster(
      app.add_flag("-p,--previous", to.of_log.previous, "The log from before the container's last restart"));
  of_cluster(
      app.add_option("--tail", to.of_log.tail, "Read this many lines from the log's end; default: all lines")
          ->check(CLI::PositiveNumber)
          ->type_name("LINES"));
  of_cluster(app.add_option("--limit", to.of_log.limit_mib, "Read at most this much of the log")
                 ->check(CLI::Range(1, 4096))
                 ->type_name("MIB")
                 ->capture_default_str());
  program::group_options(app, "With pod/NAME", {"--kubeconfig", "--context"});
}

}  // namespace nccl_env::cli
