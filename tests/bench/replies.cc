// SPDX-License-Identifier: Apache-2.0
// Answers reviews, so that a build can be compared with a former one to the byte: replies DIRECTORY [FILE],
// where DIRECTORY is what reviews.py wrote. A patched object is asked about again, by the same policy and by
// the next one. Prints a line for each answer, with a hash of it and of its record; for the review FILE alone
// the texts.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/kube/base64.h"
#include "nccl_env/store/manifests.h"
#include "nccl_env/webhook/admission.h"

namespace {

using namespace nccl_env;
using Json = nlohmann::json;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Returns the review with its object as patched; "" without a patch.
std::string patched(const std::string& review, const std::string& response) {
  const Json answer = Json::parse(response)["response"];
  if (!answer.contains("patch")) return {};
  Json next = Json::parse(review, nullptr, false);
  if (next.is_discarded()) return {};  // of managedFields that are left out
  next["request"]["object"] =
      next["request"]["object"].patch(Json::parse(*kube::decode_base64(answer["patch"].get<std::string>())));
  return next.dump();
}

class Asking {
 public:
  Asking(const std::filesystem::path& folder, bool with_resolver, bool in_full) : in_full_(in_full) {
    webhook::AdmissionOptions options;
    options.clock = [] { return parse_timestamp("2026-11-20T08:00:00Z").value(); };
    options.read_pod = [pod = read_file(folder / "bound.json")](std::string_view, std::string_view) {
      return Result<std::optional<std::string>>(pod);
    };
    options.read_claim = [](const ClaimRef&, bool) {
      return store::Attempt<SharedRequests>(Error{"no claims here"});
    };
    if (with_resolver) options.plan.resolver = Resolver{"image:1", "10m", "", "1Mi"};
    admission_ = std::make_unique<webhook::Admission>(std::move(options));
  }

  std::string ask(const Snapshot& snapshot, std::string review) {
    const std::size_t size = review.size();
    review.resize(size + kJsonPadding);
    const webhook::Answer answer = admission_->answer(snapshot, std::string_view(review.data(), size), true);
    const auto* malformed = std::get_if<webhook::Malformed>(&answer);
    const auto* answered = std::get_if<webhook::Answered>(&answer);
    const std::string text = answered    ? text_of(answered->record) + answered->response
                             : malformed ? "malformed: " + malformed->problem
                                         : "no answer " + std::to_string(answer.index());
    in_full_ ? std::cout << text << '\n' : std::cout << std::hash<std::string>()(text) << '\n';
    return answered ? answered->response : std::string();
  }

 private:
  static std::string text_of(const webhook::DecisionRecord& record) {
    std::ostringstream text;
    const auto print_name = [&](const LogName& name) { text << ' ' << name.scope << '/' << name.name; };
    text << to_string(record.outcome) << ' ' << (record.reason ? to_string(*record.reason) : "") << ' '
         << record.detail << ' ' << record.subject.policy << ' ' << record.subject.generation << ' '
         << (record.exposure ? to_string(*record.exposure) : "") << ' ' << record.warnings << " set";
    for (const LogName& name : record.set) print_name(name);
    text << " omitted";
    for (const auto& [name, reason] : record.omitted) {
      print_name(name);
      text << '=' << to_string(reason);
    }
    text << '\n';
    return text.str();
  }

  bool in_full_;
  std::unique_ptr<webhook::Admission> admission_;
};

Snapshot snapshot_of(const Json& policy, const std::filesystem::path& folder) {
  store::Objects objects;
  add_object(policy, {}, objects);
  for (const store::Objects::RefusedPolicy& refused : objects.refused_policies)
    std::cerr << "refused: " << refused.name << ": " << refused.problem << '\n';
  for (const auto& file : files_in(folder / "nodes")) add_object(Json::parse(read_file(file)), {}, objects);
  Snapshot snapshot;
  merge(objects, "replies", snapshot, [](const std::string& problem) { std::cerr << problem << '\n'; });
  snapshot.opted_in["ml"] = policy["metadata"]["name"];
  return snapshot;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  const bool in_full = argc == 3;
  const std::filesystem::path folder = argv[1];
  std::vector<Snapshot> snapshots;
  for (const auto& file : files_in(folder / "policies"))
    snapshots.push_back(snapshot_of(Json::parse(read_file(file)), folder));
  Asking plain(folder, false, in_full), resolving(folder, true, in_full);
  for (const auto& file : files_in(folder / "reviews")) {
    if (in_full && file.filename() != argv[2]) continue;
    const std::string review = read_file(file);
    for (std::size_t i = 0; i < snapshots.size(); ++i) {
      for (Asking* asking : {&plain, &resolving}) {
        std::cout << file.filename().string() << ' ' << i << '\n';
        const std::string response = asking->ask(snapshots[i], review);
        const std::string next = response.empty() ? std::string() : patched(review, response);
        if (next.empty()) continue;
        asking->ask(snapshots[i], next);
        asking->ask(snapshots[(i + 1) % snapshots.size()], next);
      }
    }
  }
  return 0;
}
