package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

const family = "railweave_kubernetes_"

// counts is what is counted as it happens; the rest is read off when it is asked for.
type counts struct {
	placing *prometheus.HistogramVec
	left    *prometheus.CounterVec
	refused prometheus.Counter
}

func newCounts() counts {
	return counts{
		placing: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: family + "placing_seconds",
			Help:    "From the creation of a group's last pod to the removal of its gates.",
			Buckets: []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86400}}, []string{"kind"}),
		left: prometheus.NewCounterVec(prometheus.CounterOpts{Name: family + "left_pods_total",
			Help: "Pods whose gate was removed without a placement: of a kind that is not known (kind), while Railweave was away (away), for Kubernetes to preempt (preempts), or as they fit on nodes in unequal numbers only (uneven)."},
			[]string{"why"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: family + "refused_total", Help: "Requests that Railweave, or the operator's policy, refused."}),
	}
}

var (
	groupsMetric   = prometheus.NewDesc(family+"groups", "Groups of pods that wait for a placement, or have one.", []string{"state"}, nil)
	podsMetric     = prometheus.NewDesc(family+"pods", "Their pods.", []string{"state"}, nil)
	awayMetric     = prometheus.NewDesc(family+"away", "1 while Railweave cannot be reached.", nil, nil)
	awayForMetric  = prometheus.NewDesc(family+"away_seconds", "For how long Railweave has not been reached; 0 while it is.", nil, nil)
	requestsMetric = prometheus.NewDesc(family+"requests_total", "Requests that were sent to Railweave.", nil, nil)
)

// gauges reads what the reconciler remembers.
type gauges struct{ r *Reconciler }

func (g gauges) Describe(into chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{groupsMetric, podsMetric, awayMetric, awayForMetric, requestsMetric} {
		into <- one
	}
}

func (g gauges) Collect(into chan<- prometheus.Metric) {
	groups, pods := map[string]int{}, map[string]int{}
	g.r.mutex.Lock()
	for _, remembered := range g.r.memories {
		waiting, placed := remembered.waiting.Load(), remembered.placed.Load()
		if waiting > 0 {
			groups["waiting"]++
		} else if placed > 0 {
			groups["placed"]++
		}
		pods["waiting"] += int(waiting)
		pods["placed"] += int(placed)
	}
	g.r.mutex.Unlock()
	gauge := func(of *prometheus.Desc, value float64, labels ...string) {
		into <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
	}
	for _, state := range []string{"waiting", "placed"} {
		gauge(groupsMetric, float64(groups[state]), state)
		gauge(podsMetric, float64(pods[state]), state)
	}
	away, is := g.r.Book.Away(), 0.0
	if away > 0 {
		is = 1
	}
	gauge(awayMetric, is)
	gauge(awayForMetric, away.Seconds())
	into <- prometheus.MustNewConstMetric(requestsMetric, prometheus.CounterValue, float64(g.r.Book.Client.Requests()))
}

// register adds them to those of the manager.
func (r *Reconciler) register() error {
	for _, one := range []prometheus.Collector{r.counts.placing, r.counts.left, r.counts.refused, gauges{r}} {
		if err := metrics.Registry.Register(one); err != nil {
			return err
		}
	}
	return nil
}

// countPlaced is called when all pods of a group lose their gates.
func (r *Reconciler) countPlaced(v *view, kind string, members []int) {
	if len(members) == 0 {
		return
	}
	newest := v.pods[members[0]].CreationTimestamp.Time
	for _, i := range members {
		if made := v.pods[i].CreationTimestamp.Time; made.After(newest) {
			newest = made
		}
	}
	r.counts.placing.WithLabelValues(kind).Observe(max(0, time.Since(newest).Seconds()))
}

// remember keeps how many pods wait, and how many are placed.
func (v *view) remember(remembered *memory) {
	waiting, placed := int64(0), int64(0)
	for _, member := range v.situation.Members {
		switch {
		case member.Ended || member.Leaving:
		case member.Gated:
			waiting++
		case member.Job != "":
			placed++
		}
	}
	remembered.waiting.Store(waiting)
	remembered.placed.Store(placed)
}
