// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/listing/import.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "answers.h"
#include "merge.h"
#include "nccl_env/core/text/strict.h"
#include "reader.h"
#include "values.h"

namespace nccl_env {
namespace listing {
namespace {

// The 4096 rows of a table take 400 kB in the widest format.
constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20U;
constexpr std::size_t kMaxLineBytes = 4096;
constexpr std::size_t kMaxSamples = 5;
constexpr std::size_t kSampleBytes = 100;

struct FormatEntry {
  ListingFormat format;
  std::string_view name;
  std::unique_ptr<Reader> (*make)();
};

constexpr std::array<FormatEntry, 7> kFormats = {{
    {ListingFormat::Auto, "auto", nullptr},
    {ListingFormat::ShowGids, "show_gids", make_show_gids_reader},
    {ListingFormat::IbvDevinfo, "ibv_devinfo", make_ibv_devinfo_reader},
    {ListingFormat::RdmaLink, "rdma-link", make_rdma_link_reader},
    {ListingFormat::Ibstat, "ibstat", make_ibstat_reader},
    {ListingFormat::Ibstatus, "ibstatus", make_ibstatus_reader},
    {ListingFormat::Ibdev2netdev, "ibdev2netdev", make_ibdev2netdev_reader},
}};

// Finds the sections of one file and hands each line to the reader that it belongs to.
class FileReader {
 public:
  FileReader(const ListingFile& file, ListingFormat format, Facts& facts, ImportReport& report)
      : file_(file), facts_(facts), report_(report) {
    for (const FormatEntry& entry : kFormats) {
      const bool wanted = format == ListingFormat::Auto || format == entry.format;
      if (wanted && entry.make != nullptr) readers_.push_back(entry.make());
    }
    forced_ = format != ListingFormat::Auto;
  }

  void read();

 private:
  void read_line(const Line& line);
  bool offer(const Line& line);
  bool offer_without_remark(const Line& line);
  void skip(const Line& line);

  const ListingFile& file_;
  Facts& facts_;
  ImportReport& report_;
  std::vector<std::unique_ptr<Reader>> readers_;
  Reader* open_ = nullptr;
  bool forced_ = false;
};

void FileReader::read() {
  std::string_view text = file_.text;
  if (text.size() > kMaxFileBytes) return facts_.problem({file_.name, 0}, "expected at most 4 MiB of text");
  if (text.find('\0') != text.npos)
    return facts_.problem({file_.name, 0}, "expected text, but there is a NUL byte");
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  const auto ports_before = facts_.ports.size();
  const auto problems_before = facts_.problem_count;
  const int answers_before = facts_.answers.count;

  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.size() > kMaxLineBytes) {
      facts_.problem({file_.name, number}, "expected a line of at most 4096 bytes");
    } else {
      read_line(Line({file_.name, number}, std::string(content)));
    }
  }
  if (open_ != nullptr) open_->finish(facts_);
  if (facts_.ports.size() == ports_before && facts_.problem_count == problems_before &&
      facts_.answers.count == answers_before) {
    facts_.problem({file_.name, 0}, "expected a listing with at least one port");
  }
}

void FileReader::read_line(const Line& line) {
  if (line.text.empty()) return;
  if (line.text.front() == '#') {
    ++report_.skipped_lines;
    return;
  }
  if (take_answer(line, facts_) || offer_without_remark(line) || offer(line)) return;
  if (looks_like_listing(line)) {
    facts_.problem(line.place, "this looks like a listing's line, but does not stand below the header of " +
                                   std::string(forced_ ? "the given format" : "a known listing") +
                                   ", or is mangled: " + quote(line.text));
  } else {
    skip(line);
  }
}

bool FileReader::offer(const Line& line) {
  const auto next = std::find_if(readers_.begin(), readers_.end(),
                                 [&](const auto& reader) { return reader->begins(line); });
  if (next == readers_.end()) return open_ != nullptr && open_->take(line, facts_);
  if (open_ != nullptr && open_ != next->get()) open_->finish(facts_);
  open_ = next->get();
  return open_->take(line, facts_);
}

// A person's remark behind a field: CA 'mlx5_5'   # the VF
bool FileReader::offer_without_remark(const Line& line) {
  const std::size_t remark = remark_in(line.text);
  if (remark == std::string::npos || !offer(Line(line.place, line.text.substr(0, remark)))) return false;
  facts_.note(line.place,
              "the remark " + quote(trim(std::string_view(line.text).substr(remark))) + " is left out");
  return true;
}

void FileReader::skip(const Line& line) {
  ++report_.skipped_lines;
  if (report_.samples.size() < kMaxSamples) {
    report_.samples.push_back({file_.name, line.place.line, printable(line.text, kSampleBytes)});
  }
}

void check_options(const ImportOptions& options, Facts& facts) {
  if (!is_dns_subdomain(options.node)) {
    facts.problem(
        {}, "expected a node name of lower-case letters, digits, '-' and '.', not " + quote(options.node));
  }
  if (options.node_interface && !is_netdev_name(*options.node_interface)) {
    facts.problem({}, "expected the name of a network interface, not " + quote(*options.node_interface));
  }
}

}  // namespace
}  // namespace listing

std::optional<ListingFormat> parse_listing_format(std::string_view name) {
  for (const auto& entry : listing::kFormats) {
    if (entry.name == name) return entry.format;
  }
  return std::nullopt;
}

std::string_view to_string(ListingFormat format) {
  for (const auto& entry : listing::kFormats) {
    if (entry.format == format) return entry.name;
  }
  return "";
}

ImportOutcome import_listings(const std::vector<ListingFile>& files, const ImportOptions& options) {
  listing::Facts facts;
  ImportReport report;
  listing::check_options(options, facts);
  if (files.empty()) facts.problem({}, "expected at least one file");
  for (const ListingFile& file : files) listing::FileReader(file, options.format, facts, report).read();

  report.table.name = options.node;
  report.table.node_interface = options.node_interface;
  report.table.ports = listing::merge_ports(facts);
  listing::apply_answers(facts, report.table.ports);
  if (facts.problem_count > 0) {
    const std::size_t more = facts.problem_count - facts.problems.size();
    return {std::nullopt, std::move(facts.problems), more};
  }
  report.notes = std::move(facts.notes);
  return {std::move(report), {}, 0};
}

}  // namespace nccl_env
