// SPDX-License-Identifier: Apache-2.0
// The command line: what there is, and what each argument means. The commands are in commands.h.
#include "nccl_env/app/cli.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <ostream>

#include "commands.h"
#include "inputs.h"
#include "nccl_env/app/version.h"
#include "resolver_options.h"

namespace nccl_env::app {
namespace {

constexpr std::string_view kProgram = "nccl-env";
constexpr const char* kTitle = "nccl-env: the right NCCL environment for a node, and why";

using Run = std::function<int(const Terminal&)>;

// One per invocation; every argument has its place here.
class CommandLine {
 public:
  explicit CommandLine(std::string program) : program_(std::move(program)), app_(kTitle, program_) {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", "nccl-env " + std::string(kVersion));
    app_.footer(
        "Exit codes: 0 done; 1 a finding, or an input that was refused; 2 usage; 3 no devices.\n"
        "Example: " +
        program_ +
        " table import --node-interface eth0 node.show_gids.txt > node.yaml\n"
        "         " +
        program_ + " explain --policy policies/generic-rdma.yaml --table node.yaml --pod pod.yaml");
    CLI::App& table = group("table", "Tables of a node's HCAs, ports and GIDs (NodeFabric)");
    add_import(table);
    add_show(table);
    add_explain(app_);
    add_select(group("nccl", "What NCCL itself does"));
    add_check(group("policy", "Policies (NcclPolicy)"));
    add_reasons(app_);
    add_doctor(app_);
    add_nodes(app_);
    add_verify(app_);
  }

  // The code, or nothing if a command is to run.
  std::optional<int> parse(int argc, const char* const* argv, const Terminal& terminal) {
    try {
      app_.parse(argc, argv);
      return std::nullopt;
    } catch (const CLI::Success& success) {  // --help, --version
      return app_.exit(success, terminal.out, terminal.err) == 0 ? kDone : kUsage;
    } catch (const CLI::ParseError& error) {
      return stop(terminal, kUsage, error.what() + std::string(" (see " + program_ + " --help)"));
    }
  }

  int run(const Terminal& terminal) const { return run_(terminal); }

 private:
  CLI::App& group(const std::string& name, const std::string& description) {
    CLI::App* added = app_.add_subcommand(name, description);
    added->require_subcommand(1);
    return *added;
  }

  template <class Arguments>
  CLI::App& command(CLI::App& parent, const std::string& name, const std::string& description,
                    const std::string& example, int (*function)(const Arguments&, const Terminal&),
                    const Arguments& arguments) {
    CLI::App* added = parent.add_subcommand(name, description);
    // The examples name the program as it is installed.
    added->footer("Example:\n  " + program_ + example.substr(kProgram.size()));
    added->callback([this, function, &arguments] {
      run_ = [=, &arguments](const Terminal& t) { return function(arguments, t); };
    });
    return *added;
  }

  static void add_output(CLI::App& app, std::string& into, std::vector<std::string> forms) {
    app.add_option("-o,--output", into, "Form of the output")
        ->check(CLI::IsMember(std::move(forms)))
        ->capture_default_str();
  }

  static void add_policy_options(CLI::App& app, PolicyArguments& into, bool required) {
    app.add_option("--policy", into.file, "File with an NcclPolicy")->required(required)->type_name("FILE");
    app.add_option("--policy-name", into.name, "Which policy, where the file holds several");
    app.add_flag("--allow-code-paths", into.allow_code_paths,
                 "Accept constants that load code (plugins, paths)");
  }

  static void add_moment(CLI::App& app, std::string& into) {
    app.add_option("--at", into, "The moment to decide for, such as 2026-11-20T08:00:00Z; default: now")
        ->type_name("TIME");
  }

  void add_import(CLI::App& parent) {
    ImportArguments& to = import_;
    CLI::App& app = command(parent, "import",
                            "Turn listings of one node, as tools print them, into a NodeFabric. A line that "
                            "should be understood and is not refuses the import: FILE:LINE, exit 1.",
                            "nccl-env table import --node gpu-1 --node-interface eth0 gids.txt devinfo.txt",
                            import_tables, to);
    app.add_option("--node", to.node, "Name of the node; default: the first file's, up to its first dot");
    app.add_option("--node-interface", to.node_interface,
                   "The netdev of the node's own address, which listings don't tell");
    app.add_option("--format", to.format, "What the files hold; auto: found by headers")
        ->check(CLI::IsMember(std::vector<std::string>{"auto", "show_gids", "ibv_devinfo", "rdma-link",
                                                       "ibstat", "ibstatus", "ibdev2netdev"}))
        ->capture_default_str();
    add_output(app, to.output, {"yaml", "json"});
    app.add_option("FILE", to.files, "Listings; - is the standard input")->required()->type_name("");
  }

  void add_show(CLI::App& parent) {
    ShowArguments& to = show_;
    CLI::App& app =
        command(parent, "show",
                "Tell of each port whether it is fabric, of each GID row whether it is usable, and "
                "why; then what hostNetwork pods get. Exit 3 if there is no port.",
                "nccl-env table show gpu-1.yaml", show_tables, to);
    add_policy_options(app, to.policy, false);
    add_moment(app, to.at);
    add_output(app, to.output, {"text", "yaml", "json"});
    app.add_option("FILE", to.files, "Files with NodeFabrics; - is the standard input")
        ->required()
        ->type_name("");
  }

  void add_explain(CLI::App& parent) {
    ExplainArguments& to = explain_;
    CLI::App& app = command(
        parent, "explain",
        "Tell what a pod gets under a policy, on a node if a table is given, and what NCCL makes of it.",
        "nccl-env explain --policy policies/baidu-roce.yaml --table gpu-1.yaml --pod job.yaml -o json",
        explain_pods, to);
    add_policy_options(app, to.policy, false);
    app.add_option(
           "--review", to.review,
           "Instead of a pod: a captured AdmissionReview; prints the webhook's answer to it, byte for "
           "byte, from --store")
        ->type_name("FILE");
    app.add_option("--store", to.store, "For --review: the webhook's directory of manifests")
        ->type_name("dir:PATH");
    app.add_option("--table", to.tables, "Files with NodeFabrics")->type_name("FILE");
    add_resolver_options(app, to.resolver);
    app.add_option(
           "--pod", to.pod,
           "A Pod, a recorded AdmissionReview, or anything that holds pod templates; - is the standard "
           "input")
        ->type_name("FILE");
    app.add_option("--claims", to.claims,
                   "Files with ResourceClaims and ResourceClaimTemplates of the pods, beside those in --pod")
        ->type_name("FILE");
    app.add_option("--node", to.node, "The pod's node; default: its spec.nodeName, else the only table's");
    app.add_option("--nccl-version", to.nccl_version, "2.18 to 2.30; default: the newest");
    add_moment(app, to.at);
    add_output(app, to.output, {"text", "json", "env"});
  }

  void add_select(CLI::App& parent) {
    SelectArguments& to = select_;
    CLI::App& app =
        command(parent, "select", "Tell which HCAs, GID indexes and interfaces NCCL takes by its own rules.",
                "nccl-env nccl select --table gpu-1.yaml --nccl-version 2.21.5 --env NCCL_IB_HCA=mlx5",
                select_with_nccl, to);
    app.add_option("--table", to.table, "File with a NodeFabric")->required()->type_name("FILE");
    app.add_option("--node", to.node, "Which node, where the file holds several");
    app.add_option("--nccl-version", to.nccl_version, "2.18 to 2.30; default: the newest");
    app.add_option("--env", to.env, "A variable of the process; may be given again")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    add_output(app, to.output, {"text", "json"});
  }

  void add_check(CLI::App& parent) {
    CheckArguments& to = check_;
    CLI::App& app =
        command(parent, "check",
                "Print what is wrong with policies, a line for each finding: FILE: POLICY: error|warning: "
                "PATH: MESSAGE. Exit 1 if one is an error; warnings alone exit 0.",
                "nccl-env policy check policies/*.yaml", check_policies, to);
    app.add_flag("--allow-code-paths", to.allow_code_paths,
                 "Accept constants that load code (plugins, paths)");
    app.add_option("FILE", to.files, "Files with NcclPolicies; - is the standard input")
        ->required()
        ->type_name("");
  }

  static void add_source(CLI::App& app, DoctorArguments& to) {
    app.add_option("FILE", to.source.files, "Files with NodeFabrics; - is the standard input")->type_name("");
    app.add_option("--store", to.source.store, "A directory of manifests, as the webhook reads it")
        ->type_name("dir:PATH");
    app.add_option("--kubeconfig", to.source.kubeconfig,
                   "The cluster to ask, where there are neither FILEs nor --store; default: $KUBECONFIG, the "
                   "pod's own cluster, ~/.kube/config")
        ->type_name("FILE");
    add_policy_options(app, to.source.policy, false);
    app.add_option("--max-table-age", to.max_table_age, "Older tables are stale: 3h, 90m, 45s")
        ->type_name("AGE")
        ->capture_default_str();
    add_moment(app, to.at);
  }

  void add_doctor(CLI::App& parent) {
    CLI::App& app = command(parent, "doctor",
                            "Tell what is wrong with the fabric of a cluster: each finding with its node, "
                            "what was seen, and what to do. Exit 1 if one is an error or a warning.",
                            "nccl-env doctor --store dir:manifests -o json", diagnose_cluster, doctor_);
    add_source(app, doctor_);
    add_output(app, doctor_.output, {"text", "json"});
  }

  void add_nodes(CLI::App& parent) {
    CLI::App& app = command(parent, "nodes",
                            "One line for each node: its fabric HCAs, GID index, rate and the table's age; ! "
                            "marks those with a finding of the doctor.",
                            "nccl-env nodes --store dir:manifests -o wide", list_nodes, nodes_);
    add_source(app, nodes_);
    add_output(app, nodes_.output, {"table", "wide", "json"});
  }

  void add_verify(CLI::App& parent) {
    VerifyArguments& to = verify_;
    CLI::App& app =
        command(parent, "verify",
                "Tell from NCCL's log (NCCL_DEBUG=INFO) of each value that a pod was given whether it "
                "is used, overridden, contradicted or not seen yet, and whether NCCL fell back to "
                "sockets. Exit 1 if it did, or if one is overridden or contradicted.",
                "nccl-env verify --pod pod.json train.log", verify_nccl_log, to);
    app.add_option("LOG", to.log, "The log; - is the standard input")->required()->type_name("");
    app.add_option("--pod", to.pod, "The pod, as kubectl get pod -o json or -o yaml prints it")
        ->type_name("FILE");
    app.add_option("--container", to.container, "Which container's values; default: all");
    add_output(app, to.output, {"text", "json"});
  }

  void add_reasons(CLI::App& parent) {
    CLI::App& app = command(parent, "reasons", "What the reasons mean, and what to do about each.",
                            "nccl-env reasons GidNotUniform", list_reasons, reasons_);
    app.add_option("NAME", reasons_.name, "One reason; default: all")->type_name("");
  }

  const std::string program_;
  CLI::App app_;
  Run run_;
  ImportArguments import_;
  ShowArguments show_;
  ExplainArguments explain_;
  SelectArguments select_;
  CheckArguments check_;
  ReasonsArguments reasons_;
  VerifyArguments verify_;
  DoctorArguments doctor_{{}, {}, "3h", "text"};
  DoctorArguments nodes_{{}, {}, "3h", "table"};
};

// kubectl starts the plugin kubectl-nccl_env for `kubectl nccl-env`.
std::string program_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "kubectl-nccl_env" ? "kubectl nccl-env" : std::string(kProgram);
}

}  // namespace

int run_cli(int argc, const char* const* argv, const Terminal& terminal) {
  CommandLine line(program_of(argc > 0 ? argv[0] : kProgram));
  const std::optional<int> ended = line.parse(argc, argv, terminal);
  const int code = ended ? *ended : line.run(terminal);
  terminal.out.flush();
  if (terminal.out) return code;
  return stop(terminal, kRefused, "the output could not be written");
}

}  // namespace nccl_env::app
