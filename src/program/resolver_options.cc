// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/resolver_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "nccl_env/core/text/strict.h"

namespace nccl_env::program {
namespace {

constexpr const char* kInitContainer = "Init container";  // title in --help
constexpr const char* kAgentImage = "nccl-env-agent";     // as images and manifests call it
constexpr std::string_view kDigest = "@sha256:";

bool is_image_character(char c) {
  return is_alphanumeric(c) || std::string_view("._-/:").find(c) != std::string_view::npos;
}

}  // namespace

std::string quantity_problem(const std::string& text) {
  constexpr std::array<std::string_view, 13> kSuffixes{"",   "m", "k",  "Ki", "M",  "Mi", "G",
                                                       "Gi", "T", "Ti", "P",  "Pi", "E"};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string number = text.substr(0, digits);
  const bool is_number = !number.empty() && number.size() <= 16 && is_digit(number.front()) &&
                         is_digit(number.back()) && std::count(number.begin(), number.end(), '.') <= 1;
  const std::string_view suffix = std::string_view(text).substr(digits);
  if (!is_number || std::find(kSuffixes.begin(), kSuffixes.end(), suffix) == kSuffixes.end())
    return "must be a Kubernetes quantity such as 100m, 0.5 or 64Mi";
  if (number.find_first_of("123456789") == std::string::npos) return "must be above zero";
  return {};
}

bool is_pinned(const std::string& image) {
  return image.find(kDigest) != std::string::npos;
}

std::string image_problem(const std::string& text) {
  constexpr std::size_t kLongest = 1024, kDigits = 64;
  const std::string name = text.substr(0, text.find('@'));
  const std::string digest = text.substr(name.size());
  if (name.empty() || text.size() > kLongest || !std::all_of(name.begin(), name.end(), is_image_character) ||
      name.front() == '-' || name.back() == ':' || name.back() == '/')
    return "must be an image's name, such as registry.example/nccl-env-agent@sha256:...";
  if (digest.empty()) return {};
  const std::string hex = digest.starts_with(kDigest) ? digest.substr(kDigest.size()) : "";
  if (hex.size() != kDigits ||
      !std::all_of(hex.begin(), hex.end(), [](char c) { return is_hex_digit(c) && !is_upper_letter(c); }))
    return "its digest must be sha256: and 64 hexadecimal digits";
  return {};
}

void add_resolver_options(CLI::App& app, Resolver& into) {
  CLI::Option* image =
      app.add_option("--resolver-image", into.image,
                     "The agent's image, by digest. Pods whose devices nobody else sees get an init "
                     "container of it, which writes their nccl.conf; without this option they get none")
          ->type_name("IMAGE")
          ->take_last()  // the manifests give one, and more arguments may follow
          ->group(kInitContainer)
          ->check(image_problem);
  const auto quantity = [&](const char* name, const char* what, std::string& to) {
    app.add_option(name, to, what)
        ->group(kInitContainer)
        ->type_name("QUANTITY")
        ->check(quantity_problem)
        ->needs(image);
  };
  quantity("--resolver-cpu",
           "CPU that this init container requests, and its limit; default: as the container that it serves",
           into.cpu);
  quantity("--resolver-memory", "Memory, likewise", into.memory);
  quantity("--resolver-ephemeral-storage", "Ephemeral storage, likewise", into.ephemeral_storage);
}

PlanOptions installed_plan(const NcclPolicy* policy, bool without) {
  if (without) return {};
  Resolver resolver;
  resolver.image = policy ? policy->resolver_image.value_or(kAgentImage) : kAgentImage;
  return plan_options(resolver);
}

PlanOptions plan_options(const Resolver& resolver) {
  PlanOptions options;
  if (!resolver.image.empty()) options.resolver = resolver;
  return options;
}

}  // namespace nccl_env::program
