// SPDX-License-Identifier: Apache-2.0
#include "pod/fields.h"

#include <charconv>
#include <cmath>

namespace nccl_env {
namespace {

using json::each_item;
using json::Element;
using json::Failure;
using json::Path;
using json::pick;
using Keys = std::string_view;

// Far more than Kubernetes lets a claim or a node have.
constexpr std::size_t kMaxClaims = 256;

struct Suffix {
  std::string_view text;
  double factor;
};
constexpr double kKibi = 1024;
constexpr Suffix kSuffixes[] = {{"", 1},
                                {"m", 1e-3},
                                {"k", 1e3},
                                {"M", 1e6},
                                {"G", 1e9},
                                {"T", 1e12},
                                {"P", 1e15},
                                {"E", 1e18},
                                {"Ki", kKibi},
                                {"Mi", kKibi* kKibi},
                                {"Gi", kKibi* kKibi* kKibi},
                                {"Ti", kKibi* kKibi* kKibi* kKibi},
                                {"Pi", kKibi* kKibi* kKibi* kKibi* kKibi},
                                {"Ei", kKibi* kKibi* kKibi* kKibi* kKibi* kKibi}};

}  // namespace

std::optional<double> parse_quantity(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.find_first_not_of("+-.0123456789eEmkMGTPKi") != std::string_view::npos) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Suffix& known : kSuffixes) {
    if (suffix == known.text) return number * known.factor;
  }
  return std::nullopt;
}

void read_claim_uses(std::optional<Element> list, const Path& path, Container& container, Failure& failure) {
  each_item(list, path, failure, [&](Element item, const Path& here) {
    const auto [name, request] = pick(item, here, std::array<Keys, 2>{"name", "request"}, failure);
    if (container.claims.size() == kMaxClaims) return failure.set(here, "too many claims");
    container.claims.push_back(
        {json::text(name, here.field("name"), failure), json::text(request, here.field("request"), failure)});
  });
}

void read_pod_claims(std::optional<Element> list, const Path& path, Pod& pod, Failure& failure) {
  each_item(list, path, failure, [&](Element item, const Path& here) {
    const auto [name, claim, claim_template] = pick(
        item, here, std::array<Keys, 3>{"name", "resourceClaimName", "resourceClaimTemplateName"}, failure);
    if (pod.claims.size() == kMaxClaims) return failure.set(here, "too many claims");
    pod.claims.push_back({json::text(name, here.field("name"), failure),
                          json::text(claim, here.field("resourceClaimName"), failure),
                          json::text(claim_template, here.field("resourceClaimTemplateName"), failure)});
  });
}

void read_security(Element context, const Path& path, Container& container, Failure& failure) {
  const auto [privileged, capabilities] =
      pick(context, path, std::array<Keys, 2>{"privileged", "capabilities"}, failure);
  container.privileged = json::boolean(privileged, path.field("privileged"), failure);
  if (!capabilities) return;
  const Path at = path.field("capabilities");
  const auto [add] = pick(*capabilities, at, std::array<Keys, 1>{"add"}, failure);
  each_item(add, at.field("add"), failure, [&](Element item, const Path& here) {
    const std::string_view name = json::text(item, here, failure);
    container.locks_memory = container.locks_memory || name == "IPC_LOCK" || name == "ALL";
  });
}

void read_arguments(const std::array<TextList, 2>& command_and_args, Container& container, Failure& failure) {
  bool names_nccl = false;
  for (const TextList& words : command_and_args) {
    each_item(words.list, words.path, failure, [&](Element item, const Path& here) {
      names_nccl = names_nccl || json::text(item, here, failure).find("NCCL_") != std::string_view::npos;
    });
  }
  if (!names_nccl) return;
  for (const TextList& words : command_and_args) {
    each_item(words.list, words.path, failure, [&](Element item, const Path& here) {
      container.arguments.push_back(json::text(item, here, failure));
    });
  }
}

void read_empty_dir(std::string_view volume, Element source, const Path& path, Pod& pod, Failure& failure) {
  const auto [medium, limit] = pick(source, path, std::array<Keys, 2>{"medium", "sizeLimit"}, failure);
  if (json::text(medium, path.field("medium"), failure) != "Memory") return;
  MemoryVolume& memory = pod.memory_volumes.emplace_back();
  memory.name = volume;
  double bytes = 0;
  if (limit && limit->is_number()) {
    if (limit->get(bytes) == simdjson::SUCCESS) memory.size_limit = bytes;
  } else if (limit) {
    memory.size_limit = parse_quantity(json::text(limit, path.field("sizeLimit"), failure));
  }
}

}  // namespace nccl_env
