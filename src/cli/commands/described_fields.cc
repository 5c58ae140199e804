// SPDX-License-Identifier: Apache-2.0
#include "commands/described_fields.h"

#include <cstddef>
#include <iterator>
#include <optional>
#include <tuple>

#include "nccl_env/core/fabric/description.h"
#include "nccl_env/core/policy/description.h"

namespace nccl_env::cli {
namespace {

using namespace nccl_env::described;

// Walks a description, and adds each field under the path that it stands at.
class Walk {
 public:
  Walk(std::string_view object, std::string_view document, std::vector<DescribedField>& into)
      : object_(object), document_(document), into_(into) {}

  template <class Object>
  void enter(const std::string& at) {
    each_field<Object>([&](const auto& field) { add(at, field); });
  }

 private:
  template <class Object, class Member, class Kind>
  void add(const std::string& at, const Field<Object, Member, Kind>& field) {
    const std::string path = at + "." + std::string(field.name);
    into_.push_back({path, field.means, words_of_kind(field.kind), object_, document_});
    enter_kind(path, field.kind, field.member);
  }
  template <class... Fields>
  void add(const std::string& at, const Group<Fields...>& group) {
    const std::string path = at + "." + std::string(group.name);
    into_.push_back({path, group.means, {}, object_, document_});
    std::apply([&](const auto&... field) { (add(path, field), ...); }, group.fields);
  }
  template <class Kind>
  void add(const std::string& at, const WholeField<Kind>& field) {
    into_.push_back({at + "." + std::string(field.name), field.means, {}, object_, document_});
  }

  template <class Words>
  static std::vector<std::string_view> names_of(const Words& words) {
    std::vector<std::string_view> names;
    names.reserve(std::size(words));
    for (const auto& [word, meaning] : words) names.push_back(word);
    return names;
  }
  template <class Kind>
  static std::vector<std::string_view> words_of_kind(const Kind& /*kind*/) {
    return {};
  }
  template <class Enum>
  static std::vector<std::string_view> words_of_kind(const Word<Enum>& /*kind*/) {
    return names_of(described::words_of<Enum>);
  }
  template <class Value, std::size_t N>
  static std::vector<std::string_view> words_of_kind(const OneOf<Value, N>& kind) {
    return names_of(kind.words);
  }

  // Objects inside of the object.
  template <class Kind, class Member>
  void enter_kind(const std::string& /*path*/, const Kind& /*kind*/, Member /*member*/) {}
  template <class Inner, class Member>
  void enter_kind(const std::string& path, const Objects<Inner>& /*kind*/, Member /*member*/) {
    enter<Inner>(path);
  }
  template <class Inner, class Member>
  void enter_kind(const std::string& path, const TextsOrOlder<Inner>& /*kind*/, Member /*member*/) {
    enter<Inner>(path);
  }
  template <class Object, class Inner>
  void enter_kind(const std::string& path, const Nested& /*kind*/, Inner Object::* /*member*/) {
    enter<Inner>(path);
  }
  template <class Object, class Inner>
  void enter_kind(const std::string& path, const Nested& /*kind*/,
                  std::optional<Inner> Object::* /*member*/) {
    enter<Inner>(path);
  }

  std::string_view object_, document_;
  std::vector<DescribedField>& into_;
};

}  // namespace

std::vector<DescribedField> described_fields() {
  std::vector<DescribedField> fields;
  Walk("NcclPolicy", "docs/reference/policy-reference.md", fields).enter<NcclPolicy>("spec");
  Walk("NodeFabric", "docs/reference/node-fabric.md", fields).enter<NodeFabric>("observed");
  return fields;
}

}  // namespace nccl_env::cli
