// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "nccl_env/core/explain/difference.h"
#include "nccl_env/core/explain/table_changes.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env::cli {
namespace {

struct TableDiffArguments {
  std::string then;
  std::string now;
  program::PolicyArguments policy;
  std::string at;  // RFC 3339; "": now
  std::string output = "text";
};

using TablesByNode = std::map<std::string, std::shared_ptr<const NodeFabric>, std::less<>>;

TablesByNode tables_by_node(const program::Tables& tables) {
  TablesByNode nodes;
  for (const auto& table : tables) nodes.emplace(table->name, table);
  return nodes;
}

class TableComparison {
 public:
  // `policy` may be null: then values are not compared.
  TableComparison(std::shared_ptr<const NcclPolicy> policy, Timestamp now)
      : policy_(std::move(policy)), context_{now} {
    context_.in_sync = false;
  }

  void add(const TablesByNode& then, const TablesByNode& now) {
    for (const auto& [node, table] : then) {
      const auto found = now.find(node);
      found == now.end() ? went_.push_back(node) : add_node(*table, *found->second);
    }
    for (const auto& [node, table] : now) {
      if (!then.contains(node)) came_.push_back(node);
    }
  }

  [[nodiscard]] bool changes() const {
    return facts_.changed() > 0 || values_.changed() > 0 || !came_.empty() || !went_.empty();
  }

  void print(const std::string& form, std::ostream& out) const {
    if (is_document(form)) {
      nlohmann::ordered_json document{{"came", came_}, {"went", went_}, {"nodes", facts_.to_json()}};
      if (policy_) document["values"] = values_.to_json();
      return print_document(document, form, out);
    }
    out << facts_.sum() << " differ";
    if (!came_.empty()) out << ", " << came_.size() << " came";
    if (!went_.empty()) out << ", " << went_.size() << " went";
    if (policy_) out << "; values of " << printable(policy_->name) << " change on " << values_.sum();
    out << '\n';
    print_nodes("came", came_, out);
    print_nodes("went", went_, out);
    out << facts_.render_text();
    if (values_.changed() > 0)
      out << "\nvalues of " << printable(policy_->name) << '\n' << values_.render_text();
  }

 private:
  void add_node(const NodeFabric& then, const NodeFabric& now) {
    facts_.add(now.name, {{table_changes(then, now), {}}});
    if (!policy_) return;
    const auto values = [&](const NodeFabric& table) {
      return offered_values(policy_, table.name, &table, context_);
    };
    values_.add(now.name, {{changes_between(values(then), values(now)), {}}});
  }

  static void print_nodes(const char* what, const std::vector<std::string>& nodes, std::ostream& out) {
    if (!nodes.empty()) out << what << ": " << printable(join_some(nodes, kMostGroups)) << '\n';
  }

  const std::shared_ptr<const NcclPolicy> policy_;
  NodeContext context_;
  std::vector<std::string> came_;
  std::vector<std::string> went_;
  Difference facts_{"node", "not known"};
  Difference values_{"node", "none"};
};

bool holds_port(const program::Tables& tables) {
  for (const auto& table : tables) {
    if (!table->ports.empty()) return true;
  }
  return false;
}

int diff_tables(const TableDiffArguments& arguments, const program::Terminal& terminal) {
  const auto moment = program::read_moment(arguments.at);
  if (!moment) return stop(terminal, program::kUsage, moment.error().message);
  std::shared_ptr<const NcclPolicy> policy;
  if (!arguments.policy.file.empty()) {
    if (const program::Failure failure = program::read_chosen_policy(arguments.policy, terminal.in, policy))
      return stop(terminal, failure);
  }
  const auto then = program::read_tables({arguments.then}, terminal.in);
  if (!then) return stop(terminal, program::kNotSeen, then.error().message);
  const auto now = program::read_tables({arguments.now}, terminal.in);
  if (!now) return stop(terminal, program::kNotSeen, now.error().message);
  if (!holds_port(*then) && !holds_port(*now))
    return stop(terminal, program::kNothing, "nothing to compare: the tables hold no port");
  TableComparison comparison(std::move(policy), *moment);
  comparison.add(tables_by_node(*then), tables_by_node(*now));
  comparison.print(arguments.output, terminal.out);
  return comparison.changes() ? program::kFinding : program::kDone;
}

}  // namespace

void add_table_diff(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"diff",
       "Tell what is different between two sets of tables: nodes, ports, states, rates, GID indexes and all "
       "other facts, but no times; with --policy also which values. Equal changes are told once. Exit 1 if "
       "something differs; 3 if no table has a port.",
       "nccl-env table diff before.yaml after.yaml --policy policies/generic-rdma.yaml"},
      diff_tables);
  for (const auto& [name, into, description] :
       {std::tuple{"OLD", &to.then,
                   "A file with NodeFabrics, or a directory of such files; - is the standard input"},
        std::tuple{"NEW", &to.now, "The same, later"}})
    app.add_option(name, *into, description)->required()->type_name("");
  add_policy_options(app, to.policy);
  add_moment(app, to.at);
  add_output(app, to.output, {"text"});
}

}  // namespace nccl_env::cli
