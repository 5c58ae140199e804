// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/pod/review.h"

#include "pod/json_reader.h"
#include "pod/review_pod.h"

namespace nccl_env {
namespace {

using json::Element;
using json::Failure;
using json::Path;
using json::pick;
using Keys = std::string_view;

Binding read_binding(Element object, const Path& path, Failure& failure) {
  Binding binding;
  const auto [metadata, target] = pick(object, path, std::array<Keys, 2>{"metadata", "target"}, failure);
  if (metadata) {
    binding.has_metadata = true;
    const Path at = path.field("metadata");
    const auto [uid, annotations] = pick(*metadata, at, std::array<Keys, 2>{"uid", "annotations"}, failure);
    binding.pod_uid = json::text(uid, at.field("uid"), failure);
    binding.has_annotations = annotations.has_value();
    read_strings(annotations, at.field("annotations"), binding.annotations, failure);
  }
  if (target) {
    const Path at = path.field("target");
    const auto [name] = pick(*target, at, std::array<Keys, 1>{"name"}, failure);
    binding.node = json::text(name, at.field("name"), failure);
  }
  if (binding.node.empty()) failure.set(path.field("target.name"), "must name a node");
  return binding;
}

Review::Kind kind_of(std::string_view group, std::string_view resource, std::string_view sub_resource) {
  if (!group.empty()) return Review::Kind::Other;
  if (resource == "pods" && sub_resource.empty()) return Review::Kind::Pod;
  if (resource == "pods" && sub_resource == "binding") return Review::Kind::Binding;
  if (resource == "bindings" && sub_resource.empty()) return Review::Kind::Binding;
  return Review::Kind::Other;
}

Review read_request(Element request, const Path& path, Failure& failure) {
  Review review;
  const auto [uid, resource, sub_resource, name, name_space, operation, object, dry_run] =
      pick(request, path,
           std::array<Keys, 8>{"uid", "resource", "subResource", "name", "namespace", "operation", "object",
                               "dryRun"},
           failure);
  review.uid = json::text(uid, path.field("uid"), failure);
  if (review.uid.empty()) failure.set(path.field("uid"), "must be a non-empty string");
  review.name = json::text(name, path.field("name"), failure);
  review.name_space = json::text(name_space, path.field("namespace"), failure);
  review.create = json::text(operation, path.field("operation"), failure) == "CREATE";
  review.dry_run = json::boolean(dry_run, path.field("dryRun"), failure);
  if (!resource) {
    failure.set(path.field("resource"), "must be an object");
    return review;
  }
  const Path at = path.field("resource");
  const auto [group, plural] = pick(*resource, at, std::array<Keys, 2>{"group", "resource"}, failure);
  review.kind = kind_of(json::text(group, at.field("group"), failure),
                        json::text(plural, at.field("resource"), failure),
                        json::text(sub_resource, path.field("subResource"), failure));
  if (review.kind == Review::Kind::Other || !review.create) return review;
  if (!object) {
    failure.set(path.field("object"), "must be an object");
  } else if (review.kind == Review::Kind::Pod) {
    review.pod = read_pod(*object, path.field("object"), failure);
    review.pod.name_space = review.name_space;
  } else {
    review.binding = read_binding(*object, path.field("object"), failure);
  }
  return review;
}

}  // namespace

std::optional<std::string_view> Pod::annotation(std::string_view key) const {
  for (const auto& [known, value] : annotations) {
    if (known == key) return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> Pod::label(std::string_view key) const {
  for (const auto& [known, value] : labels) {
    if (known == key) return value;
  }
  return std::nullopt;
}

std::size_t Pod::annotation_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [known, value] : annotations) bytes += known.size() + value.size();
  return bytes;
}

struct ReviewParser::State {
  simdjson::dom::parser parser{kMaxReviewBytes};

  Result<Element> parse(std::string_view text, bool padded) {
    if (text.size() > kMaxReviewBytes) return Error{"the document is larger than 8 MiB"};
    Element root;
    const auto error = parser.parse(text.data(), text.size(), !padded).get(root);
    if (error != simdjson::SUCCESS) return Error{std::string("not JSON: ") + simdjson::error_message(error)};
    return root;
  }
};

static_assert(kJsonPadding >= simdjson::SIMDJSON_PADDING);

ReviewParser::ReviewParser() : state_(std::make_unique<State>()) {}
ReviewParser::~ReviewParser() = default;
ReviewParser::ReviewParser(ReviewParser&&) noexcept = default;
ReviewParser& ReviewParser::operator=(ReviewParser&&) noexcept = default;

Result<Review> ReviewParser::parse_review(std::string_view text, bool padded) {
  const Result<Element> root = state_->parse(text, padded);
  if (!root) return root.error();
  Failure failure;
  const Path top;
  const auto [version, kind, request] =
      pick(*root, top, std::array<Keys, 3>{"apiVersion", "kind", "request"}, failure);
  if (json::text(version, top.field("apiVersion"), failure) != "admission.k8s.io/v1") {
    failure.set(top.field("apiVersion"), "must be admission.k8s.io/v1");
  }
  if (json::text(kind, top.field("kind"), failure) != "AdmissionReview") {
    failure.set(top.field("kind"), "must be AdmissionReview");
  }
  if (!request) failure.set(top.field("request"), "must be an object");
  if (failure.failed()) return failure.error();
  Review review = read_request(*request, top.field("request"), failure);
  if (failure.failed()) return failure.error();
  return review;
}

Result<Pod> ReviewParser::parse_pod(std::string_view text) {
  const Result<Element> root = state_->parse(text, false);
  if (!root) return root.error();
  Failure failure;
  Pod pod = read_pod(*root, Path{}, failure);
  if (failure.failed()) return failure.error();
  return pod;
}

}  // namespace nccl_env
