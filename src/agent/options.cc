// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/proof/proof.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/net/server/server.h"
#include "nccl_env/program/choice.h"
#include "nccl_env/program/duration.h"
#include "nccl_env/program/help_formatter.h"
#include "nccl_env/program/store_option.h"
#include "nccl_env/program/usage.h"

namespace nccl_env::agent {
namespace {

CLI::Validator address(std::optional<IpAddress>& into) {
  return {[&into](std::string& text) {
            const auto parsed = parse_ip(text);
            if (parsed) into = *parsed;
            return parsed ? std::string() : parsed.error().message;
          },
          "ADDRESS"};
}

// Reads the keys; one that is given twice counts once.
std::string read_label_keys(std::string_view text, std::vector<std::string>& into) {
  into.clear();
  while (!text.empty()) {
    const std::string key(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(key.size() + 1, text.size()));
    if (!is_label_key(key)) return "'" + key + "' is not a label's key";
    if (std::find(into.begin(), into.end(), key) == into.end()) into.push_back(key);
  }
  return into.size() <= kMaxNodeLabels ? "" : "at most " + std::to_string(kMaxNodeLabels) + " labels";
}

CLI::Validator label_keys(std::vector<std::string>& into) {
  return {[&into](std::string& text) { return read_label_keys(text, into); }, ""};
}

// Checks the name with the reader of tables, which has the rules for it.
CLI::Validator node_name() {
  return {[](std::string& text) {
            NodeFabric table;
            table.name = text;
            const auto read = parse_node_fabric(nlohmann::json::parse(to_json(table).dump()));
            return read ? std::string() : read.error().message;
          },
          "NAME"};
}

// CLI::Range takes "nan", and writes its bounds with six decimals.
std::string read_seconds_problem(const std::string& text) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, seconds);
  const bool good = error == std::errc() && last == end && seconds >= 0.1 && seconds <= 600;
  return good ? "" : "must be a number from 0.1 to 600";
}

class AgentCommandLine {
 public:
  AgentCommandLine() {
    app_.formatter(std::make_shared<program::HelpFormatter>());
    program::add_version(app_, "nccl-env-agent");
    app_.require_subcommand(1);
    add_show();
    add_run();
    add_resolve();
    add_fabric_test();
  }

  ParsedAgentOptions parse(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
      return {std::nullopt, error.get_exit_code() == 0 ? app_.exit(error) : refuse(words, error)};
    }
    arguments_.run.log_level = *parse_log_level(level_);
    return {arguments_, 0};
  }

 private:
  using Command = AgentArguments::Command;

  // Only run writes a log. Errors of the others are read by a person, or in the pod's output, and a
  // person left the command out or misspelt it.
  int refuse(const std::vector<std::string>& words, const CLI::ParseError& error) {
    return program::refuse_usage(program::usage_problem(app_, words, error.what()),
                                 app_.got_subcommand("run") ? program::Reader::Log : program::Reader::Person);
  }

  CLI::App& command(const std::string& name, const std::string& description, Command value) {
    CLI::App* added = app_.add_subcommand(name, description);
    added->callback([this, value] { arguments_.command = value; });
    return *added;
  }

  static void add_sysfs(CLI::App& app, std::filesystem::path& into) {
    app.add_option("--sysfs", into,
                   "Read a copy of /sys instead: no libibverbs, and interfaces without addresses")
        ->check(CLI::ExistingDirectory);
  }

  void add_probe(CLI::App& app, ProbeArguments& into) {
    add_sysfs(app, into.sysfs);
    app.add_option("--node-ip", node_ip_,
                   "The Node's InternalIP: the interface that carries it is the node's own")
        ->check(address(into.node_address));
    app.add_flag("!--no-verbs", into.use_verbs, "Read sysfs alone");
  }

  static void add_duration(CLI::App& app, const char* name, const char* help, std::chrono::seconds& into) {
    app.add_option_function<std::string>(
           name, [](const std::string&) {}, help)
        ->check(program::duration(into))
        ->check([&into](const std::string&) { return into.count() > 0 ? "" : "must be at least 1s"; });
  }

  void add_show() {
    AgentShowArguments& to = arguments_.show;
    CLI::App& app =
        command("show",
                "This node's devices, ports and GID rows: what show_gids, ibv_devinfo and ibdev2netdev "
                "tell together, and which ports are fabric.",
                Command::Show);
    add_probe(app, to.probe);
    app.add_option("--node-name", to.probe.node_name, "Name of the table; default: the host's name")
        ->check(node_name());
    app.add_option("--policy", to.policy_file, "File with an NcclPolicy to judge by")->type_name("FILE");
    app.add_option("-o,--output", to.output,
                   "table: for people; json, yaml: the NodeFabric, or with --policy the verdicts")
        ->check(program::one_of({"table", "json", "yaml"}))
        ->capture_default_str();
    app.footer(
        "Exit codes: 0 there are devices, 2 usage, 3 no devices, 4 --policy cannot be\n"
        "read, or is refused.");
  }

  void add_run() {
    AgentRunArguments& to = arguments_.run;
    CLI::App& app = command("run", "Keep the node's NodeFabric true until SIGTERM or SIGINT.", Command::Run);
    add_probe(app, to.probe);
    app.add_option("--node-name", to.probe.node_name, "Name of the Node, and so of the table")
        ->required()
        ->check(node_name());
    app.add_option("--store", store_,
                   "Where the table goes: kubernetes, or dir:PATH for the file PATH/NAME.yaml")
        ->required()
        ->check(program::store_directory(to.directory));
    app.add_option("--kubeconfig", to.kubeconfig,
                   "The cluster; default: the one that the agent runs in, or $KUBECONFIG")
        ->type_name("FILE");
    app.add_option_function<std::string>(
           "--node-labels", [](const std::string&) {},
           "Labels of the Node that the table repeats, for variants of policies; \"\" for none. Default: " +
               join(to.node_labels, ","))
        ->type_name("KEY[,KEY...]")
        ->check(label_keys(to.node_labels));
    add_duration(app, "--refresh", "How often an unchanged table is written again, +-20 % [1h]", to.refresh);
    add_duration(app, "--look", "How often to look without an event [60s]", to.look_anyway);
    app.add_option("--ops-listen", to.ops_listen, "ADDR:PORT of health and metrics (plain HTTP)")
        ->type_name("ADDR:PORT")
        ->check(net::listen_problem)
        ->capture_default_str();
    app.add_option("--log-level", level_, "Least level of the lines to write")
        ->capture_default_str()
        ->check(program::one_of({"debug", "info", "warn", "error", "off"}));
    app.footer(
        "GET /healthz, /readyz (once the table has been written) and /metrics on --ops-listen.\n"
        "Exit codes: 0 after SIGTERM or SIGINT, 1 it could not start, 2 usage.");
  }

  void add_resolve() {
    ResolveArguments& to = arguments_.resolve;
    CLI::App& app =
        command("resolve",
                "From inside a pod, once: decide by the policy in NCCL_ENV_POLICY (JSON) what this pod's own "
                "devices and addresses give, and write it as nccl.conf. Or write what the Binding gave.",
                Command::Resolve);
    add_sysfs(app, to.sysfs);
    app.add_option("--out", to.out, "The file; written whatever happens, empty where nothing is certain")
        ->required()
        ->type_name("FILE");
    app.add_option("--engine-files", to.engine_files,
                   "Write the files of other engines (ucx.conf) into this folder");
    app.add_option("--env-out", to.env_out,
                   "Also write NAME='VALUE' lines here, which fileKeyRef reads (EnvFile); written likewise")
        ->type_name("FILE");
    app.add_option("--given", to.given,
                   "Look at no device: take these variables' values from the text of nccl.conf in "
                   "NCCL_ENV_CONF")
        ->delimiter(',')
        ->type_name("NAME[,NAME...]");
    app.add_option("--table", to.table,
                   "Decide from this NodeFabric instead of devices; show -o yaml prints one in a pod")
        ->type_name("FILE");
    app.add_option("--termination-log", to.termination_log,
                   "Where the kubelet reads what was decided and why")
        ->capture_default_str()
        ->type_name("FILE");
    app.add_option(
           "--read-seconds", to.read_seconds,
           "How long reading the devices may take; after it the file is empty, and NCCL decides alone")
        ->check(read_seconds_problem)
        ->capture_default_str()
        ->type_name("SECONDS");
    app.add_flag("--host-network", to.host_network, "The pod is on the node's own network");
    app.add_flag("--strict", to.strict, "Exit 1 where a value is missing for a reason of the node");
    app.footer(
        "Exit codes: 0, with --strict 1 where a value is missing, 2 usage, 4 --out cannot\n"
        "be written, or --table cannot be read.");
  }

  void add_fabric_test() {
    FabricTestArguments& to = arguments_.fabric_test;
    CLI::App& app = command("fabric-test",
                            "From inside a pod of `nccl-env fabric test`: send packets to the others' ports "
                            "as NCCL would. Member 0 also leads, and prints the journal.",
                            Command::FabricTest);
    add_sysfs(app, to.sysfs);
    app.add_option("--collector", to.collector, "Host of member 0")->required()->type_name("HOST");
    app.add_option("--port", to.port, "TCP port of member 0")
        ->check(CLI::Range(1, 65535))
        ->capture_default_str();
    app.add_option("--members", to.members, "How many there are")
        ->required()
        ->check(CLI::Range(2, kMaxProofMembers));
    app.add_option("--place", to.place, "Which one this is, from 0")
        ->envname("JOB_COMPLETION_INDEX")
        ->required()
        ->check(CLI::Range(0, kMaxProofMembers - 1));
    app.add_option("--node-name", to.node, "Name of its node")
        ->envname("NODE_NAME")
        ->required()
        ->check(node_name());
    add_duration(app, "--wait", "How long member 0 waits for the others, to test those that came [60s]",
                 to.wait);
    add_duration(app, "--deadline", "When all ends, done or not [600s]", to.deadline);
    app.add_flag("--all-pairs", to.all_pairs, "Each member with each, not with 2 log2 of them");
    app.add_flag("--cross-rails", to.cross_rails, "Each rail with each of the peer's");
    app.add_option("--nccl-version", to.nccl_version, "Whose rules choose ports and rows [the newest known]")
        ->type_name("VERSION");
    app.footer(
        "FABRIC_TEST_TOKEN is the secret that all members share; NCCL's variables and nccl.conf count.\n"
        "Exit codes: 0 whatever was found, also without member 0, because a pod that fails ends the Job;\n"
        "2 usage, 4 member 0 could not listen, or had no time left.");
  }

  CLI::App app_{"Reads a node's RDMA devices and keeps its NodeFabric true.", "nccl-env-agent"};
  AgentArguments arguments_;
  std::string node_ip_;
  std::string store_;
  std::string level_ = "info";
};

}  // namespace

ParsedAgentOptions parse_agent_options(int argc, const char* const* argv) {
  return AgentCommandLine().parse(argc, argv);
}

}  // namespace nccl_env::agent
