// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/listing/import.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "nccl_env/core/text/strict.h"
#include "reader.h"

namespace nccl_env {
namespace listing {
namespace {

// The 4096 rows of a table take 400 kB in the widest format.
constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20U;
constexpr std::size_t kMaxLineBytes = 4096;

// True where libibverbs or ibv_devinfo says that it found nothing, or cannot use what it found: what follows
// is not the whole node.
bool is_failure(const Line& line) {
  const std::string_view text = line.text;
  return text.starts_with("No IB devices found") || text.starts_with("Failed to get IB devices list") ||
         text.starts_with("Failed to open device") ||
         (text.starts_with("libibverbs") && text.find(" does not support the kernel ABI of ") != text.npos);
}

// Finds the tool whose listing the file is, and hands each line to its reader.
class FileReader {
 public:
  FileReader(Facts& facts, ImportReport& report) : facts_(facts), report_(report) {}

  void read(std::string_view text);

 private:
  void read_line(const Line& line);
  bool offer(const Line& line);

  Facts& facts_;
  ImportReport& report_;
  const std::array<std::unique_ptr<Reader>, 3> readers_{
      make_show_gids_reader(facts_), make_ibv_devinfo_reader(facts_), make_rdma_link_reader(facts_)};
  Reader* open_ = nullptr;
  bool is_mixed_ = false;
};

void FileReader::read(std::string_view text) {
  if (text.size() > kMaxFileBytes) return facts_.problem(0, "expected at most 4 MiB of text");
  if (text.find('\0') != text.npos) return facts_.problem(0, "expected text, but there is a NUL byte");
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  for (int number = 1; !text.empty() && !is_mixed_; ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.size() > kMaxLineBytes) {
      facts_.problem(number, "expected a line of at most 4096 bytes");
    } else {
      read_line(Line(number, content));
    }
  }
  if (open_ != nullptr) open_->finish();
  if (facts_.ports.empty() && facts_.problem_count == 0)
    facts_.problem(0, "expected a listing of show_gids, ibv_devinfo -v or rdma link with at least one port");
}

void FileReader::read_line(const Line& line) {
  if (line.text.empty()) return;
  const bool note = line.text.front() == '#';
  if (!note && is_failure(line))
    return facts_.problem(line.number, "the tool could not read what is there: " + quote(line.text));
  if (!note && offer(line)) return;
  if (!note && looks_like_listing(line))
    return facts_.problem(line.number,
                          "this looks like a listing's line, but does not stand below the header of a known "
                          "listing, or is mangled: " +
                              quote(line.text));
  ++report_.skipped_lines;
}

bool FileReader::offer(const Line& line) {
  const auto next = std::ranges::find_if(readers_, [&](const auto& reader) { return reader->begins(line); });
  if (next == readers_.end()) return open_ != nullptr && open_->take(line);
  if (open_ == nullptr) open_ = next->get();
  if (open_ == next->get()) return open_->take(line);
  is_mixed_ = true;
  facts_.problem(line.number,
                 "another tool's listing: a file holds that of one. It begins with " + quote(line.text));
  return true;
}

// No listing tells of uverbs devices; those that the kernel makes for a subnet manager have none, and this
// name.
void mark_smi(std::vector<Port>& ports) {
  const auto is_smi = [](const Port& port) {
    return port.hca.size() > 3 && port.hca.starts_with("smi") &&
           port.hca.find_first_not_of("0123456789", 3) == std::string::npos;
  };
  if (std::all_of(ports.begin(), ports.end(), is_smi)) return;
  for (Port& port : ports) {
    if (is_smi(port)) port.unavailable = Unavailable::NoVerbs;
  }
}

}  // namespace
}  // namespace listing

ImportOutcome import_listing(const ListingFile& file, const ImportOptions& options) {
  ImportReport report;
  listing::Facts facts;
  if (!is_dns_subdomain(options.node))
    facts.problem(0,
                  listing::expected("a node name of lower-case letters, digits, '-' and '.'", options.node));
  if (options.node_interface && !is_netdev_name(*options.node_interface))
    facts.problem(0, listing::expected("the name of a network interface", *options.node_interface));
  facts.file = file.name;
  listing::FileReader(facts, report).read(file.text);

  report.table.name = options.node;
  report.table.node_interface = options.node_interface;
  for (const listing::PortFacts& told : facts.ports) report.table.ports.push_back(listing::make_port(told));
  listing::mark_smi(report.table.ports);
  const std::size_t more = facts.problem_count - facts.problems.size();
  if (facts.problem_count > 0) return {std::nullopt, std::move(facts.problems), more};
  return {std::move(report), {}, 0};
}

}  // namespace nccl_env
