#include "weir/app/report_metrics.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace weir {
namespace {

using Labels = Metric::Labels;

class Builder {
 public:
  void Counter(absl::string_view name, const Labels& labels, uint64_t value) {
    Add(Metric::Kind::kCounter, name, labels, value);
  }
  void Gauge(absl::string_view name, const Labels& labels, uint64_t value) {
    Add(Metric::Kind::kGauge, name, labels, value);
  }
  std::vector<Metric> Take() { return std::move(metrics_); }

 private:
  void Add(Metric::Kind kind, absl::string_view name, const Labels& labels,
           uint64_t value) {
    metrics_.push_back({kind, std::string(name), labels, value});
  }

  std::vector<Metric> metrics_;
};

Labels With(Labels labels, absl::string_view key, absl::string_view value) {
  labels.emplace_back(std::string(key), std::string(value));
  return labels;
}

void AddStage(const StageSnapshot& stage, const Labels& labels, Builder& out) {
  out.Counter("weir_stage_packets", labels, stage.packets);
  out.Counter("weir_stage_taken_packets", labels, stage.taken);
  out.Counter("weir_stage_made_packets", labels, stage.made);
  out.Gauge("weir_stage_held_packets", labels, stage.held);
  out.Counter("weir_stage_timed_packets", labels, stage.timed_packets);
  out.Counter("weir_stage_timed_cycles", labels, stage.timed_tsc);
  for (const DropSnapshot& drop : stage.drops) {
    out.Counter("weir_stage_dropped_packets", With(labels, "reason", drop.name),
                drop.packets);
  }
}

void AddPipeline(const PipelineSnapshot& pipeline, const Labels& labels,
                 Builder& out) {
  const Labels ways =
      With(With(labels, "from", pipeline.from), "to", pipeline.to);
  out.Counter("weir_pipeline_received_packets", ways, pipeline.received);
  out.Counter("weir_pipeline_sent_packets", ways, pipeline.sent);
  out.Gauge("weir_pipeline_waiting_packets", ways, pipeline.waiting);
  for (size_t i = 0; i < pipeline.stages.size(); ++i) {
    const StageSnapshot& stage = pipeline.stages[i];
    AddStage(
        stage,
        With(With(labels, "position", std::to_string(i)), "stage", stage.name),
        out);
  }
}

void AddLcore(const LcoreSnapshot& lcore, Builder& out) {
  const Labels labels = {{"lcore", std::to_string(lcore.lcore)}};
  out.Counter("weir_lcore_polls", labels, lcore.polls);
  out.Counter("weir_lcore_busy_polls", labels, lcore.busy_polls);
  out.Counter("weir_lcore_packets", labels, lcore.packets);
  out.Counter("weir_lcore_timed_packets", labels, lcore.timed_packets);
  out.Counter("weir_lcore_timed_cycles", labels, lcore.timed_tsc);
  out.Counter("weir_lcore_sleeps", labels, lcore.sleeps);
  out.Counter("weir_lcore_slept_cycles", labels, lcore.slept_tsc);
  for (size_t i = 0; i < lcore.pipelines.size(); ++i) {
    AddPipeline(lcore.pipelines[i], With(labels, "pipeline", std::to_string(i)),
                out);
  }
}

void AddRings(const AppReport& report, Builder& out) {
  for (const RingSnapshot& ring : RingsOf(report)) {
    const Labels labels = {{"ring", ring.name}};
    out.Gauge("weir_ring_capacity_packets", labels, ring.capacity);
    out.Gauge("weir_ring_packets", labels, ring.size);
    out.Gauge("weir_ring_high_water_packets", labels, ring.high_water);
  }
}

void AddQueue(const QueueStats& queue, const Labels& labels, Builder& out) {
  out.Counter("weir_queue_posts", labels, queue.posts);
  out.Counter("weir_queue_completions", labels, queue.completions);
  out.Counter("weir_queue_packets", labels, queue.packets);
  out.Counter("weir_queue_bytes", labels, queue.bytes);
  out.Counter("weir_queue_errors", labels, queue.errors);
  out.Counter("weir_queue_recoveries", labels, queue.recoveries);
  out.Gauge("weir_queue_held_mbufs", labels, queue.held_mbufs);
  for (const NamedCount& failure : queue.failures) {
    out.Counter("weir_queue_failures", With(labels, "reason", failure.name),
                failure.value);
  }
  for (const NamedCount& drop : queue.drops) {
    out.Counter("weir_queue_dropped_packets", With(labels, "reason", drop.name),
                drop.value);
  }
}

void AddPort(const PortReport& port, Builder& out) {
  const Labels labels = {{"port", port.info.name},
                         {"device", port.info.device}};
  out.Gauge("weir_port_up", labels, port.state == PortState::kUp ? 1 : 0);
  out.Gauge("weir_port_gone", labels, port.state == PortState::kGone ? 1 : 0);
  out.Counter("weir_port_state_changes", labels, port.state_changes);
  for (const QueueStats& queue : port.queues) {
    AddQueue(queue, With(labels, "queue", queue.name), out);
  }
  for (const NamedCount& count : port.device_counters) {
    out.Counter("weir_port_device_events", With(labels, "counter", count.name),
                count.value);
  }
}

}  // namespace

std::vector<Metric> MetricsOf(const AppReport& report) {
  Builder out;
  out.Counter("weir_run_milliseconds", {},
              static_cast<uint64_t>(report.seconds * 1000));
  out.Gauge("weir_tsc_hertz", {}, static_cast<uint64_t>(report.tsc_hz));
  for (const LcoreSnapshot& lcore : report.lcores) AddLcore(lcore, out);
  AddRings(report, out);
  for (const PortReport& port : report.ports) AddPort(port, out);
  const MbufLedger& mbufs = report.mbufs;
  out.Gauge("weir_mbufs", {{"where", "free"}}, mbufs.free);
  out.Gauge("weir_mbufs", {{"where", "posted"}}, mbufs.posted);
  out.Gauge("weir_mbufs", {{"where", "sending"}}, mbufs.sending);
  out.Gauge("weir_mbufs", {{"where", "rings"}}, mbufs.rings);
  out.Gauge("weir_mbufs", {{"where", "pipelines"}}, mbufs.held());
  out.Counter("weir_mbuf_shortages", {}, mbufs.shortages);
  return out.Take();
}

}  // namespace weir
