// SPDX-License-Identifier: Apache-2.0
#include "yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <map>
#include <sstream>

#include "document_builder.h"
#include "utf8.h"
#include "yaml_scalar.h"

namespace nccl_env {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxExpansion = std::size_t{8} << 20U;  // bytes that anchors and aliases may add
constexpr std::size_t kNodeBytes = 16;                        // what a value costs besides its text
constexpr const char* kMergeKey = "<<";

struct Refused {
  YAML::Mark mark;
  std::string sentence;
};

struct Size {
  std::size_t bytes = kNodeBytes;
  std::size_t depth = 0;
};

// Recursive, over values that are at most DocumentBuilder::kMaxDepth deep.
Size size_of(const json& value) {
  Size total;
  if (value.is_string()) total.bytes += value.get_ref<const std::string&>().size();
  if (!value.is_structured()) return total;
  for (const auto& item : value.items()) {
    const Size inner = size_of(item.value());
    total.bytes += inner.bytes + (value.is_object() ? item.key().size() : 0);
    total.depth = std::max(total.depth, inner.depth);
  }
  ++total.depth;
  return total;
}

// Events rather than yaml-cpp's nodes: those follow aliases without a bound and accept duplicate keys.
class YamlEvents final : public YAML::EventHandler {
 public:
  explicit YamlEvents(std::string_view text) : text_(text) {}

  json take() { return builder_.take(); }

  // yaml-cpp reads what is left over after a document as one more, for ever where it cannot read it ("a:
  // 1\n]").
  void OnDocumentStart(const YAML::Mark& mark) override {
    const auto at = static_cast<std::size_t>(std::max(mark.pos, 0));
    if (!first_ && !text_.substr(std::min(at, text_.size())).starts_with("---")) {
      throw Refused{mark, "a document was complete before this; the next one starts with ---"};
    }
    first_ = false;
    anchors_.clear();
    expansion_ = 0;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (builder_.expects_key()) throw Refused{mark, "a key may not be empty or null"};
    add(mark, anchor, nullptr);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    // yaml-cpp makes single bytes of these two.
    if (!is_utf8(text))
      throw Refused{mark, "the escapes \\N and \\_ are not read here; write \\u0085 and \\u00a0"};
    const bool plain = tag == "?";
    if (!plain && tag != "!" && tag != "tag:yaml.org,2002:str") refuse_tag(mark, tag);
    if (builder_.expects_key()) {
      if (plain && text == kMergeKey) frames_.back().merges = true;
      if (!builder_.key(text)) throw Refused{mark, builder_.problem()};
      if (anchor != 0) keep(mark, anchor, text);
      return;
    }
    if (!plain) return add(mark, anchor, text);
    auto value = resolve_plain_scalar(text);
    if (!value) throw Refused{mark, value.error().message};
    add(mark, anchor, *std::move(value));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (builder_.expects_key()) throw Refused{mark, "a key may not be an alias"};
    const auto target = anchors_.find(anchor);
    if (target == anchors_.end()) throw Refused{mark, "the alias stands inside what it names"};
    charge(mark, target->second.size.bytes);
    if (builder_.depth() + target->second.size.depth > DocumentBuilder::kMaxDepth) {
      throw Refused{mark,
                    "the alias nests deeper than " + std::to_string(DocumentBuilder::kMaxDepth) + " levels"};
    }
    builder_.add(target->second.value);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    if (tag != "?" && !tag.empty() && tag != "!" && tag != "tag:yaml.org,2002:seq") refuse_tag(mark, tag);
    open(mark, anchor, json::array());
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    if (tag != "?" && !tag.empty() && tag != "!" && tag != "tag:yaml.org,2002:map") refuse_tag(mark, tag);
    open(mark, anchor, json::object());
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    bool merges = false;
  };
  struct Anchored {
    json value;
    Size size;
  };

  [[noreturn]] static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    throw Refused{mark, "the tag " +
                            json(tag.substr(0, 64)).dump(-1, ' ', true, json::error_handler_t::replace) +
                            " is not supported"};
  }

  void charge(const YAML::Mark& mark, std::size_t bytes) {
    if (bytes > kMaxExpansion - expansion_)
      throw Refused{mark, "aliases make the document larger than 8 MiB"};
    expansion_ += bytes;
  }

  void keep(const YAML::Mark& mark, YAML::anchor_t anchor, const json& value) {
    const Size size = size_of(value);
    charge(mark, size.bytes);
    anchors_[anchor] = {value, size};
  }

  void add(const YAML::Mark& mark, YAML::anchor_t anchor, json value) {
    if (anchor != 0) keep(mark, anchor, value);
    builder_.add(std::move(value));
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, json container) {
    if (builder_.expects_key()) throw Refused{mark, "a key may not be a list or an object"};
    if (!builder_.open(std::move(container))) throw Refused{mark, builder_.problem()};
    frames_.push_back({mark, anchor, false});
  }

  void close() {
    const Frame frame = frames_.back();
    frames_.pop_back();
    json* const complete = builder_.close();
    if (frame.merges) merge(frame, *complete);
    if (frame.anchor != 0) keep(frame.mark, frame.anchor, *complete);
  }

  // What the object says itself wins, then the first of the merged objects that says it.
  static void merge(const Frame& frame, json& object) {
    json source = std::move(object[kMergeKey]);
    object.erase(kMergeKey);
    if (source.is_object()) source = json::array({std::move(source)});
    const bool objects = source.is_array() && std::all_of(source.begin(), source.end(),
                                                          [](const json& each) { return each.is_object(); });
    if (!objects) throw Refused{frame.mark, "the merge key << takes an object or a list of objects"};
    for (const json& each : source) {
      for (const auto& item : each.items()) {
        if (!object.contains(item.key())) object[item.key()] = item.value();
      }
    }
  }

  std::string_view text_;
  bool first_ = true;
  DocumentBuilder builder_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::size_t expansion_ = 0;
};

YamlProblem problem_at(const YAML::Mark& mark, const std::string& sentence) {
  return {std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1, sentence};
}

}  // namespace

std::variant<std::vector<json>, YamlProblem> parse_yaml_documents(std::string_view text) {
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    YamlEvents events(text);
    std::vector<json> documents;
    while (parser.HandleNextDocument(events)) {
      json document = events.take();
      if (!document.is_null()) documents.push_back(std::move(document));
    }
    return documents;
  } catch (const Refused& refused) {
    return problem_at(refused.mark, refused.sentence);
  } catch (const YAML::Exception& error) {
    return problem_at(error.mark, error.msg);
  } catch (const std::exception& error) {  // the standard library's, out of yaml-cpp
    return problem_at(YAML::Mark(), error.what());
  }
}

}  // namespace nccl_env
