// SPDX-License-Identifier: Apache-2.0
#include "generate/outputs.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <stdexcept>

#include "generate/described.h"
#include "generate/policy.h"
#include "generate/policy_rules.h"
#include "generate/sysfs_facts.h"
#include "nccl_env/core/fabric/description.h"
#include "nccl_env/core/policy/reasons.h"
#include "support/places.h"

namespace nccl_env::generate {
namespace {

// A checked-in file; what stands between the line of a marker and the next line with "generated: end" is
// ours.
class File {
 public:
  explicit File(const std::string& path) : output_{path, {}} {
    std::ifstream file(tests::in_source("/" + path));
    output_.text.assign(std::istreambuf_iterator<char>(file), {});
  }

  File& put(const std::string& part, const std::string& text) {
    const auto marker = output_.text.find("generated: " + part);
    const auto end = output_.text.find("generated: end", marker);
    if (marker == output_.text.npos || end == output_.text.npos)
      throw std::runtime_error(output_.path + ": has no place for " + part);
    const auto from = output_.text.find('\n', marker) + 1;
    const auto to = output_.text.rfind('\n', end) + 1;
    output_.text.replace(from, to - from, text);
    return *this;
  }

  operator Output() const { return output_; }

 private:
  Output output_;
};

// A plain scalar of YAML, or one in quotes.
std::string scalar(const ordered_json& value) {
  if (!value.is_string()) return value.dump();
  const std::string text = value;
  const bool plain = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                     text.find_first_of(":,[]{}#'\"|&*!\\") == text.npos;
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? "''" : std::string(1, c));
  return quoted + "'";
}

std::string flow(const ordered_json& value) {
  std::string text;
  for (const auto& [key, each] : value.items())
    text += (text.empty() ? "" : ", ") + (value.is_object() ? key + ": " : "") +
            (each.is_structured() ? flow(each) : scalar(each));
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

// A schema that holds no other in a line, everything else in block style.
void print_block(const ordered_json& object, const std::string& indent, std::string& out) {
  for (const auto& [key, value] : object.items()) {
    out += indent + key + ":";
    const bool block = value.is_object()
                           ? key == "properties" || value.contains("properties") || value.contains("items") ||
                                 value.contains("x-kubernetes-validations")
                           : value.is_array() && !value[0].is_string();
    if (!block) {
      out += " " + (value.is_structured() ? flow(value) : scalar(value)) + "\n";
    } else if (value.is_object()) {
      out += "\n";
      print_block(value, indent + "  ", out);
    } else {
      out += "\n";
      for (const ordered_json& each : value) {
        const auto at = out.size();
        print_block(each, indent + "  ", out);
        out.replace(at, indent.size() + 2, indent + "- ");
      }
    }
  }
}

std::string dictionary_of(const Entries& entries) {
  std::string text;
  for (const std::string& entry : entries) text += "\"" + entry + "\"\n";
  return text;
}

std::string reasons_for_deny() {
  std::string text;
  for (const Reason reason : all_reasons()) {
    if (may_deny(reason)) text.append(text.empty() ? "" : ",\n").append(to_string(reason));
  }
  return text + ".\n";
}

Entries table_words() {
  Entries words;
  words_of_object<NodeFabric>(words);
  return words;
}

Entries sysfs_words() {
  Entries words;
  each_sysfs_fact([&](std::string_view attribute, const std::string& example) {
    add_once(words, "/" + std::string(attribute));
    add_once(words, example);
  });
  return words;
}

}  // namespace

ordered_json table_schema() {
  ordered_json schema = object_schema<NodeFabric>();
  schema["properties"]["ports"]["x-kubernetes-validations"].push_back(
      {{"rule",
        "self.map(p, (has(p.gidRows) ? size(p.gidRows) : 0) + (has(p.gids) ? size(p.gids) : 0)).sum() <= " +
            std::to_string(kMaxTableRows)},
       {"message", "a table holds at most " + std::to_string(kMaxTableRows) + " GID rows in all"}});
  return schema;
}

ordered_json spec_schema() {
  ordered_json schema = policy_schema<NcclPolicy>();
  schema["required"].push_back("match");
  schema["properties"]["variants"]["items"]["properties"]["when"]["minProperties"] = 1;
  for (const CelRule& rule : kPolicyRules)
    schema[ordered_json::json_pointer(rule.place)]["x-kubernetes-validations"].push_back(
        {{"rule", rule.rule}, {"message", rule.message}});
  return schema;
}

std::vector<Output> outputs() {
  std::string observed, spec;
  print_block(table_schema()["properties"], std::string(14, ' '), observed);
  print_block(spec_schema()["properties"], std::string(14, ' '), spec);
  Entries words;
  policy_words<NcclPolicy>(words);
  return {File("manifests/base/crds/ncclpolicies.yaml").put("NcclPolicy", spec),
          File("tests/fuzz/dict/policy.dict").put("NcclPolicy", dictionary_of(words)),
          File("tests/fuzz/dict/policy_review.dict").put("NcclPolicy", dictionary_of(words)),
          File("manifests/base/crds/nodefabrics.yaml").put("NodeFabric", observed),
          File("docs/reference/node-fabric.md")
              .put("NodeFabric", field_table<NodeFabric>())
              .put("NodeLabel", field_table<NodeLabel>())
              .put("Port", field_table<Port>())
              .put("GidRow", field_table<GidRow>())
              .put("PartitionKey", field_table<PartitionKey>())
              .put("Interface", field_table<Interface>()),
          File("docs/use/reasons.md").put("Deny", reasons_for_deny()),
          File("tests/fuzz/dict/node_fabric.dict").put("NodeFabric", dictionary_of(table_words())),
          File("tests/fuzz/dict/sysfs.dict").put("sysfs_facts", dictionary_of(sysfs_words()))};
}

}  // namespace nccl_env::generate
