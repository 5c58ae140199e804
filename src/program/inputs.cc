// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/inputs.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <ostream>
#include <set>

#include "nccl_env/base/yaml.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/program/clock.h"
#include "nccl_env/program/duration.h"
#include "nccl_env/store/load_once.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::program {
namespace {

using Json = nlohmann::json;

Result<std::string> read_stream(const std::string& name, std::istream& in, std::size_t limit) {
  std::string text;
  char block[64 << 10];
  errno = 0;
  while (in.read(block, sizeof block) || in.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(in.gcount()));
    if (text.size() > limit) return Error{name + ": larger than " + std::to_string(limit >> 20) + " MiB"};
  }
  if (in.bad()) return Error{name + ": " + (errno ? std::strerror(errno) : "cannot be read")};
  return text;
}

// True if a text that is not a table may be what a tool printed of a node's devices.
bool looks_like_listing(std::string_view text) {
  constexpr std::array<std::string_view, 5> kMarks{"GID", "hca_id:", "CA '", "==>", "link mlx"};
  return text.find("apiVersion") == text.npos &&
         std::any_of(kMarks.begin(), kMarks.end(),
                     [&](std::string_view mark) { return text.find(mark) != text.npos; });
}

std::string import_hint(const std::string& file, std::string_view text) {
  if (!looks_like_listing(text)) return {};
  return " (a listing such as show_gids prints is imported first: nccl-env table import " + file +
         " > NODE.yaml)";
}

// People who know kubectl give a node's name where a file is asked for.
std::string node_hint(const std::string& file) {
  std::error_code ignored;
  const bool may_be_node = is_dns_subdomain(file) && std::filesystem::path(file).extension().empty();
  return may_be_node && !std::filesystem::exists(file, ignored)
             ? "; of a node of the cluster: nccl-env nodes " + file
             : "";
}

// Objects of the kinds that are looked up; the first that is refused refuses the file.
Result<store::Objects> read_objects(const std::string& file, const PolicyOptions& options, std::istream& in) {
  const auto documents = read_documents(file, in);
  if (!documents) return documents.error();
  store::Objects objects;
  for (const Json& document : *documents) store::add_object(document, options, objects);
  if (objects.problems.empty()) return objects;
  return Error{file + ": " + join(objects.problems, ", ", &store::Objects::Problem::sentence) +
               (file == "-" ? "" : "; nccl-env policy check " + file + " names the lines")};
}

// True for `kubectl get -o json` of objects of which there are none.
bool is_empty_list(const Json& document) {
  const Json& items = member(document, "items");
  return text_at(document, "kind").ends_with("List") && items.is_array() && items.empty();
}

Result<store::Reading> tables_of(const std::string& file, std::istream& in) {
  const Result<std::string> text = read_text(file, in);
  if (!text) return Error{text.error().message + node_hint(file)};
  const auto documents = parse_documents(*text, file);
  if (!documents) return Error{documents.error().message + import_hint(file, *text)};
  store::Objects objects;
  std::vector<std::string> others;
  for (const Json& document : *documents) {
    if (!document.is_object()) return Error{file + ": holds no NodeFabric" + import_hint(file, *text)};
    store::add_object(document, {}, objects);
    const std::string kind = text_at(document, "kind"), name = text_at(member(document, "metadata"), "name");
    if (!kind.empty()) others.push_back(kind + (name.empty() ? "" : " " + name));
  }
  store::Reading read;
  // Policies beside a table are not looked at here, so their problems are ignored.
  for (const auto& [kind, sentence, name] : objects.problems) {
    if (kind != "NcclPolicy") read.problems.push_back({kind, file + ": " + sentence, name});
  }
  if (objects.tables.empty() && read.problems.empty() &&
      (documents->empty() || !std::ranges::all_of(*documents, is_empty_list)))
    return Error{file + ": holds " + (others.empty() ? "" : join_some(others, 4) + ", and ") +
                 "no NodeFabric" + import_hint(file, *text)};
  for (const auto& packed : objects.tables)
    read.tables.push_back(std::make_shared<const NodeFabric>(packed->unpack()));
  return read;
}

Result<store::Reading> tables_in(const std::string& directory) {
  auto reading = store::read_directory(directory, {});
  if (reading && reading->tables.empty() && reading->problems.empty())
    return Error{directory + ": its files hold no NodeFabric"};
  return reading;
}

template <class T>
Result<std::shared_ptr<const T>> choose(const std::vector<std::shared_ptr<const T>>& objects,
                                        const std::string& name, const std::string& kind,
                                        const std::string& option) {
  std::vector<std::string> names;
  for (const auto& object : objects) {
    if (name.empty() ? objects.size() == 1 : object->name == name) return object;
    names.push_back(object->name);
  }
  if (name.empty())
    return Error{"several of kind " + kind + " are given: choose one with " + option + ": " + join(names)};
  return Error{option + " " + name + ": there is no such " + kind + ", only " + join(names)};
}

}  // namespace

Result<std::string> read_text(const std::string& file, std::istream& in, std::size_t limit) {
  if (file == "-") return read_stream("standard input", in, limit);
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return Error{file + ": " + (errno ? std::strerror(errno) : "cannot be opened")};
  return read_stream(file, stream, limit);
}

Result<std::vector<Json>> read_documents(const std::string& file, std::istream& in) {
  const Result<std::string> text = read_text(file, in);
  if (!text) return text.error();
  return parse_documents(*text, file);
}

Result<Tables> read_tables(const std::vector<std::string>& files, std::istream& in) {
  store::Reading read = read_each_table(files, in);
  if (!read.problems.empty()) return Error{read.problems.front().sentence};
  if (read.tables.empty() && !files.empty())
    return Error{join(files) + ": holds an empty list, and no NodeFabric"};
  return std::move(read.tables);
}

store::Reading read_each_table(const std::vector<std::string>& files, std::istream& in) {
  store::Reading all;
  std::set<std::string, std::less<>> names;
  for (const std::string& file : files) {
    std::error_code ignored;
    auto found = std::filesystem::is_directory(file, ignored) ? tables_in(file) : tables_of(file, in);
    if (!found) {
      all.problems.push_back({"", found.error().message});
      continue;
    }
    std::ranges::move(found->problems, std::back_inserter(all.problems));
    for (auto& table : found->tables) {
      const std::string& name = table->name;
      if (names.insert(name).second)
        all.tables.push_back(std::move(table));
      else
        all.problems.push_back({"NodeFabric", file + ": NodeFabric " + name + " is given twice", name});
    }
  }
  return all;
}

Result<Policies> read_policies(const PolicyArguments& arguments, std::istream& in) {
  auto objects = read_objects(arguments.file, {arguments.allow_code_paths}, in);
  if (!objects) return objects.error();
  if (objects->policies.empty()) return Error{arguments.file + ": holds no NcclPolicy"};
  return std::move(objects->policies);
}

Failure read_chosen_policy(const PolicyArguments& arguments, std::istream& in,
                           std::shared_ptr<const NcclPolicy>& into) {
  if (arguments.file.empty()) return {};
  const auto policies = read_policies(arguments, in);
  if (!policies) return {kNotSeen, policies.error().message};
  const auto chosen = choose_policy(*policies, arguments.name);
  if (!chosen) return {kUsage, chosen.error().message};
  into = *chosen;
  return {};
}

Result<std::shared_ptr<const NodeFabric>> choose_table(const Tables& tables, const std::string& node) {
  return choose(tables, node, "NodeFabric", "--node");
}

Result<std::shared_ptr<const NcclPolicy>> choose_policy(const Policies& policies, const std::string& name) {
  return choose(policies, name, "NcclPolicy", "--policy-name");
}

Result<NcclVersion> read_nccl_version(const std::string& text) {
  if (text.empty()) return kNewestNccl;
  Result<NcclVersion> version = parse_nccl_version(text);
  if (!version) return Error{"--nccl-version: " + version.error().message};
  return version;
}

Result<Timestamp> read_moment(const std::string& text) {
  if (text.empty() || text == "now") return clock_now();
  if (text.front() == '-') {
    const auto ago = parse_duration(text.substr(1));
    if (!ago) return Error{"--at " + text + ": " + ago.error().message};
    return clock_now() - *ago;
  }
  constexpr std::size_t kDate = 10;  // "2026-11-20"
  Result<Timestamp> moment = parse_timestamp(text.size() == kDate ? text + "T00:00:00Z" : text);
  if (!moment)
    return Error{"--at: " + parse_timestamp(text).error().message + "; a date, now and -2h are taken, too"};
  return moment;
}

}  // namespace nccl_env::program
