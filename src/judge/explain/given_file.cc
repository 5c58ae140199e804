// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/explain/given_file.h"

#include <nlohmann/json.hpp>

#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

using Json = nlohmann::json;

// A text that Binding writes is smaller (docs/operate/operations.md, Sizing); the kubelet keeps 4 KiB of a
// message (MaxContainerTerminationMessageLength).
constexpr std::size_t kMaxText = 64u << 10;
constexpr std::size_t kMaxMessage = 4096;
constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxDetail = 512;
constexpr std::string_view kFirstFact = "{\"v\":1}\n";

// Words of the pod's status: short and printable, whoever wrote them.
std::string word_of(const Json& value) {
  return value.is_string() ? printable(value.get_ref<const std::string&>().substr(0, kMaxDetail))
                           : std::string();
}

bool is_name(std::string_view text) {
  return text.size() <= kMaxName && has_known_prefix(text) && is_variable_name(text);
}

bool add_omission(std::string_view name, std::string_view reason, std::string_view detail, GivenFile& into) {
  if (!is_name(name) || !parse_reason(reason) || !is_printable_ascii(detail)) return false;
  into.reasons.insert_or_assign(std::string(name), std::string(reason));
  into.details.insert_or_assign(std::string(name), std::string(detail.substr(0, kMaxDetail)));
  return true;
}

void set_foreign(GivenFile& into) {
  into = {into.at_start, GivenFile::State::Foreign, false, {}, {}, {}, {}, false};
}

// Gives each complete line to `take`; the text is foreign if that refuses one. What stands behind the last
// line feed is cut.
template <class Take>
void read_lines(std::string_view text, std::size_t most, Take take, GivenFile& into) {
  into.state = GivenFile::State::Known;
  bool ours = text.size() <= most;
  for (std::size_t end = text.find('\n'); ours && end != text.npos; end = text.find('\n')) {
    ours = take(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  into.cut = !text.empty();
  if (!ours || !is_printable_ascii(text)) set_foreign(into);
}

void read_annotation(std::string_view text, GivenFile& into) {
  ConfText read = read_conf(prefix_of(text, kMaxText));
  const bool ours = std::ranges::all_of(
      read.values, [](const auto& line) { return is_name(line.first) && is_printable_ascii(line.second); });
  if (!ours || !read.is_ours || text.size() > kMaxText || !text.ends_with('\n')) return set_foreign(into);
  into.state = GivenFile::State::Known;
  into.lines = std::move(read.values);
}

// A line of render_message (core/decide/start.h); false for one that it never writes.
bool add_fact(std::string_view line, std::string& problem, GivenFile& into) {
  const Json fact = parse_json(line);
  if (!fact.is_object() || !is_printable_ascii(line)) return false;
  const std::string name = text_at(fact, "set");
  if (const std::string to = text_at(fact, "to"); !name.empty()) {
    into.lines.insert_or_assign(name, to);
    return is_name(name) && is_printable_ascii(to);
  }
  if (const Json& limit = member(fact, "memoryLock"); limit.is_number_integer())
    into.memory_lock = limit.get<std::int64_t>();
  const std::string found = text_at(fact, "problem");
  if (!is_printable_ascii(found)) return false;  // escapes are decoded
  if (problem.empty()) problem = found.substr(0, kMaxDetail);
  return !fact.contains("omitted") ||
         add_omission(text_at(fact, "omitted"), text_at(fact, "reason"), text_at(fact, "detail"), into);
}

// Reads what render_message writes. The kubelet cuts it where it likes: all messages of a pod share 12 KiB.
void read_message(std::string_view text, GivenFile& into) {
  if (!text.starts_with(kFirstFact)) return set_foreign(into);
  std::string problem;
  read_lines(
      text, kMaxMessage, [&](std::string_view line) { return add_fact(line, problem, into); }, into);
  if (into.state == GivenFile::State::Foreign) return;
  into.cut = into.cut || text.size() == kMaxMessage;
  if (problem.empty()) return;
  into.lines.clear();
  into.state = GivenFile::State::Failed;
  into.detail = problem;
}

// ": cannot write /nccl-env/nccl.conf: ..."; "" where it left no message.
std::string end_message(const Json& terminated) {
  const std::string message = text_at(terminated, "message");
  GivenFile told;
  read_message(message, told);
  const std::string line =
      told.state == GivenFile::State::Failed ? told.detail : message.substr(0, message.find('\n'));
  return line.empty() || line.starts_with('{') ? "" : ": " + printable(line.substr(0, kMaxDetail));
}

void read_end(const Json& terminated, GivenFile& into) {
  const Json& code = member(terminated, "exitCode");
  if (code == 0) {
    const Json& message = member(terminated, "message");
    if (message.is_string() && message != "")
      return read_message(message.get_ref<const std::string&>(), into);
    into.state = GivenFile::State::Foreign;
    into.detail = "it left no termination message, which it always writes where it can";
    return;
  }
  into.state = GivenFile::State::Failed;
  into.stuck = true;
  into.detail = "exit code " + (code.is_number_integer() ? code.dump() : "not known");
  const std::string reason = word_of(member(terminated, "reason"));
  if (!reason.empty() && reason != "Error") into.detail += ", " + reason;
  into.detail += end_message(terminated);
}

// The kubelet's message, which names the image and why; else the image.
std::string image_words(const Json& container) {
  std::string message = word_of(member(member(member(container, "state"), "waiting"), "message"));
  const std::string image = word_of(member(container, "image"));
  if (message.empty() || image.empty()) return image + message;
  return message.find(image) == std::string::npos ? image + ", " + message : message;
}

void read_resolver(const Json& object, GivenFile& into) {
  into.state = GivenFile::State::Waiting;
  const Json& all = items_at(member(object, "status"), "initContainerStatuses");
  const auto found = std::ranges::find_if(
      all, [](const Json& status) { return member(status, "name") == conf_file::kResolver; });
  if (found == all.end()) return;
  const Json& state = member(*found, "state");
  if (member(state, "terminated").is_object()) return read_end(member(state, "terminated"), into);
  const Json& last = member(member(*found, "lastState"), "terminated");
  into.detail = word_of(member(member(state, "waiting"), "reason"));
  into.stuck = is_stuck(into.detail);
  into.crashes = into.detail == kCrashes;
  if (lacks_image(into.detail)) into.detail += ": " + image_words(*found);
  if (!into.stuck || !last.is_object()) return;
  const Json& code = member(last, "exitCode");
  if (code.is_number_integer()) into.detail += ", exit code " + code.dump();
  into.detail += end_message(last);
}

bool mounts_any_file(const Container& container) {
  return container.name != conf_file::kResolver &&
         std::ranges::find(container.mounts, conf_file::kVolume, &VolumeMount::volume) !=
             container.mounts.end();
}

}  // namespace

bool GivenFile::is_written() const {
  return !at_start || (state == State::Known && !cut) || (state == State::Failed && !stuck);
}

bool mounts_file_at(const Container& container, std::string_view path) {
  return container.name != conf_file::kResolver &&
         std::ranges::any_of(container.mounts, [&](const VolumeMount& mount) {
           return mount.volume == conf_file::kVolume && mount.mount_path == path &&
                  mount.sub_path == conf_file::kName;
         });
}

bool mounts_given_file(const Container& container) {
  return mounts_file_at(container, conf_file::kPath) || mounts_file_at(container, conf_file::kNamedPath);
}

std::optional<GivenFile> read_given_file(const Pod& pod, const Json& object) {
  if (!pod.own_volume) return std::nullopt;
  // The init container writes the files of other engines, too, and tells of all that it wrote.
  const auto& reads = pod.own_volume->empty_dir ? mounts_any_file : mounts_given_file;
  if (!reads_env_file(pod) && std::ranges::none_of(pod.containers, reads)) return std::nullopt;
  GivenFile file;
  if (pod.own_volume->empty_dir) {
    file.at_start = true;
    read_resolver(object, file);
    return file;
  }
  const VolumeItem* item = pod.own_volume->item_at(conf_file::kName);
  const std::string_view key = item ? annotation_of(item->field_path) : std::string_view();
  if (!shape_with(key)) return std::nullopt;
  if (const auto text = pod.annotation(key); text && !text->empty()) read_annotation(*text, file);
  return file;
}

GivenFile read_engine_file(const Pod& pod, const Engine& engine, const std::optional<GivenFile>& conf) {
  GivenFile file;
  if (pod.own_volume->empty_dir) return conf ? *conf : file;
  const VolumeItem* item = pod.own_volume->item_at(engine.file);
  const auto text = item ? pod.annotation(annotation_of(item->field_path)) : std::nullopt;
  if (text && !text->empty()) read_annotation(*text, file);
  return file;
}

}  // namespace nccl_env
