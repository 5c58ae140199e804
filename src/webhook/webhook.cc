// SPDX-License-Identifier: Apache-2.0
#include "webhook.h"

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>

#include "certificates/reminder.h"
#include "cluster.h"
#include "memory_budget.h"
#include "metrics.h"
#include "nccl_env/base/container.h"
#include "nccl_env/base/log.h"
#include "nccl_env/base/metrics.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/net/file_watch.h"
#include "nccl_env/net/server/ops_server.h"
#include "nccl_env/net/server/server.h"
#include "nccl_env/net/tls/pki.h"
#include "nccl_env/net/tls/tls.h"
#include "nccl_env/program/clock.h"
#include "nccl_env/program/ending.h"
#include "nccl_env/program/resolver_options.h"
#include "nccl_env/program/signals.h"
#include "nccl_env/program/version.h"
#include "nccl_env/store/store.h"
#include "requests.h"

namespace nccl_env::webhook {
namespace {

class Webhook {
 public:
  explicit Webhook(const WebhookOptions& options)
      : options_(options), log_(Logger::to_stderr(options.log_level)), metrics_(registry_) {}

  // Prepares everything that needs no port.
  Status prepare() {
    const auto client = connect(options_, log_);
    if (!client) return client.error();
    auto store = open_store(options_, *client, log_);
    if (!store) return store.error();
    store_ = *std::move(store);
    if (Status made = make_services(*client); !made) return made;
    return load_certificate();
  }

  // Called instead of start(): tells whether start() could succeed. Fails if the API server does not answer,
  // or if a file is refused.
  Status try_out(const program::TerminationSignals& stop) {
    if (Status prepared = prepare(); !prepared) return prepared;
    const auto end = std::chrono::steady_clock::now() + kLongestRead;
    while (!store_->ready()) {
      if (std::chrono::steady_clock::now() >= end || stop.comes_within(kSignalStep))
        return program::at_option("--store kubernetes", Error{std::string(kStoreNotRead) + why_not_read()});
    }
    if (const store::StoreStats stats = store_->stats(); stats.files_refused > 0)
      return program::at_option(
          "--store", Error{std::to_string(stats.files_refused) + " of " + std::to_string(stats.files) +
                           " files refused, as the log says"});
    log_->info("it can start", {{"version", program::kVersion}});
    return done();
  }

  Status start() {
    if (Status prepared = prepare(); !prepared) return prepared;
    if (const std::string& image = options_.resolver.image; !image.empty() && !program::is_pinned(image))
      log_->warn("--resolver-image names no digest: what pods get is what the tag points to when they start",
                 {{"image", image}});
    if (Status started = start_server(); !started) return started;
    services_.add_metrics(registry_);
    add_gauges(registry_, {*server_, *store_, *tls_, *log_, [this] { return not_ready().empty(); },
                           program::clock_now, options_.max_table_age});
    if (Status started = start_ops(); !started) return started;
    services_.start();
    ready_ = true;
    log_->info("memory", {{"bound", memory_formula(memory_input(options_))}});
    log_->info(
        "listening",
        {{"version", program::kVersion}, {"admission_port", server_->port()}, {"ops_port", ops_->port()}});
    return done();
  }

  // Runs until a signal comes.
  void run(const program::TerminationSignals& stop) {
    while (!stop.comes_within(remind_of_certificate())) {
    }
  }

  // Reports not ready first, then answers with `Connection: close`; an open connection may be used until the
  // grace is over.
  void drain(const program::TerminationSignals& stop) {
    ready_ = false;
    server_->begin_drain();
    log_->info("draining", {{"grace_seconds", options_.drain_grace.count()}});
    const auto settle = std::min<std::chrono::milliseconds>(kSettle, options_.drain_grace);
    auto drained = std::async(std::launch::async,
                              [this, settle] { return server_->wait_drained(options_.drain_grace, settle); });
    const auto waiting = [&] {
      return drained.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
    };
    while (waiting() && !stop.comes_within(kSignalStep)) {
    }
    server_->stop();
    ops_->stop();
    log_->info("stopped", {{"drained", drained.get()}});
  }

 private:
  // Clients learn late that we are not ready: a moment without a connection does not mean that none will
  // come.
  static constexpr std::chrono::seconds kSettle{2};
  // A second signal is looked for this often.
  static constexpr std::chrono::milliseconds kSignalStep{50};
  // How long --check waits for the API server.
  static constexpr std::chrono::seconds kLongestRead{30};

  Status make_services(const std::shared_ptr<kube::Client>& client) {
    auto services = ClusterServices::make(options_, client, log_, [this] {
      metrics_.certificate_reloads.add(kSwapped);
      log_certificate("certificate swapped");
    });
    if (!services) return services.error();
    services_ = *std::move(services);
    tls_ = services_.tls();
    return done();
  }

  Status load_certificate() {
    const CertificateOptions& options = options_.certificates;
    if (options.managed()) return done();
    // On its own, so that the option that has to change is named.
    if (const auto client_ca = net::read_client_ca(options.client_ca); !client_ca)
      return program::at_option("--client-ca", client_ca.error());
    net::TlsFiles files{options.tls_cert, options.tls_key, options.client_ca};
    if (!options.self_signed.empty()) {
      const auto made =
          net::make_self_signed(options.self_signed, options.names, std::chrono::system_clock::now());
      if (!made) return program::at_option("--self-signed", made.error());
      files.certificate = made->certificate;
      files.key = made->key;
    }
    auto tls = net::TlsSource::load(files);
    if (!tls) return program::at_option("--tls-cert, --tls-key", tls.error());
    tls_ = std::move(*tls);
    log_certificate("certificate loaded");
    tls_watch_ = std::make_unique<net::FileWatch>(tls_->directories(),
                                                  [this](const net::ChangedNames&) { reload_certificate(); });
    tls_watch_->set_directories(tls_->directories());  // for changes between load and watch
    return done();
  }

  // Returns how long no other call is needed.
  std::chrono::milliseconds remind_of_certificate() {
    const auto context = tls_->current();
    if (!context) return std::chrono::seconds(1);  // there is none yet
    const auto now = std::chrono::system_clock::now();
    const std::lock_guard lock(reminder_mutex_);
    if (const auto reminder = reminder_.due(context->info(), now)) {
      log_->warn(reminder->message, {{"problem", reminder->problem}});
    }
    return CertificateReminder::quiet_for(context->info(), now);
  }

  void log_certificate(std::string_view message) {
    const auto context = tls_->current();
    const net::CertificateInfo& info = context->info();
    log_->info(message,
               {{"subject", info.subject},
                {"names", join(info.names)},
                {"not_after", format_timestamp(std::chrono::floor<std::chrono::seconds>(info.not_after))}});
    remind_of_certificate();
  }

  void reload_certificate() {
    const auto reloaded = tls_->reload();
    if (!reloaded) {
      metrics_.certificate_reloads.add(kRefused);
      log_->error("certificate refused, the old one stays", {{"problem", reloaded.error().message}});
    } else if (*reloaded == net::TlsSource::Reload::Swapped) {
      metrics_.certificate_reloads.add(kSwapped);
      log_certificate("certificate swapped");
    }
  }

  // Each connection takes a descriptor. Runtimes give a soft limit of 1024 below a hard one that is far
  // higher.
  [[nodiscard]] int connections_that_fit() const {
    constexpr rlim_t kOthers = 128;  // watches, files, the pages for operators
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return options_.max_connections;
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::getrlimit(RLIMIT_NOFILE, &limit);
    const auto wanted = static_cast<rlim_t>(options_.max_connections);
    if (limit.rlim_cur >= wanted + kOthers) return options_.max_connections;
    const int fit =
        static_cast<int>(limit.rlim_cur > 2 * kOthers ? limit.rlim_cur - kOthers : limit.rlim_cur / 2);
    log_->warn("the limit of open files is below --max-connections, so fewer are taken",
               {{"limit", static_cast<std::int64_t>(limit.rlim_cur)}, {"connections", fit}});
    return fit;
  }

  Status start_server() {
    net::ServerOptions options;
    options.listen = options_.listen;
    options.tls = tls_;
    options.log = log_;
    options.max_connections = connections_that_fit();
    options.threads = options_.threads > 0 ? options_.threads : default_threads();
    requests_ = std::make_unique<Requests>(options_, *store_, metrics_, *log_, services_);
    // One more for the thread that answers large requests.
    net::ServerHandlers handlers = requests_->handlers(options.threads + options.waiting_threads + 1);
    handlers.distrusted = [this] { note_distrust(); };
    auto server = net::Server::start(options, std::move(handlers));
    if (!server) return program::at_option("--listen", server.error());
    server_ = std::move(*server);
    return done();
  }

  // Called when a client does not trust the certificate. `ready_`: the services' threads are there.
  void note_distrust() {
    if (ready_) services_.look_at_trust();
  }

  Status start_ops() {
    auto ops = net::start_ops_server(
        options_.ops_listen, log_,
        {[this] { return server_->held_up(net::kLongestHold); }, [this] { return std::string(not_ready()); },
         [this] { return registry_.render(); }, [this] { return still_to_come(); }});
    if (!ops) return program::at_option("--ops-listen", ops.error());
    ops_ = std::move(*ops);
    return done();
  }

  // Says why the program wants no traffic; "" if it does.
  [[nodiscard]] std::string_view not_ready() const {
    if (!ready_) return "draining";
    if (!store_->ready()) return kStoreNotRead;
    if (!services_.ready()) return "no certificate yet";
    return {};
  }

  // Returns ": " and the first problem of a watch that has not read its list; "" if there is none.
  [[nodiscard]] std::string why_not_read() const {
    for (const store::WatchStats& watch : store_->stats().watches) {
      if (!watch.synced && !watch.problem.empty()) return ": " + watch.problem;
    }
    return {};
  }

  // Names what is not read yet although the program answers already; "" if nothing is.
  [[nodiscard]] std::string still_to_come() const {
    if (store_->snapshots().get()->tables_known) return {};
    return "tables are still being read, each Binding reads the one that it needs";
  }

  const WebhookOptions options_;
  const std::shared_ptr<Logger> log_;
  MetricRegistry registry_;
  WebhookMetrics metrics_;
  std::unique_ptr<store::Store> store_;
  std::shared_ptr<net::TlsSource> tls_;
  std::mutex reminder_mutex_;  // guards the next member
  CertificateReminder reminder_;
  std::unique_ptr<Requests> requests_;
  std::atomic<bool> ready_{false};
  std::unique_ptr<net::Server> server_;
  std::unique_ptr<net::Server> ops_;
  // Last: their threads end before anything that they use.
  std::unique_ptr<net::FileWatch> tls_watch_;
  ClusterServices services_;
};

}  // namespace

Status run_webhook(const WebhookOptions& options) {
  // A page of a list is some MiB, and tables are made while it is held. On the heap the page would leave a
  // hole below the tables for good: once glibc has seen a large block freed, it puts blocks of that size on
  // the heap.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  const program::TerminationSignals stop;
  Webhook webhook(options);
  if (options.check) return webhook.try_out(stop);
  if (Status started = webhook.start(); !started) return started;
  webhook.run(stop);
  webhook.drain(stop);
  return done();
}

}  // namespace nccl_env::webhook
