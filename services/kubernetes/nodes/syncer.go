package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/names"
)

// Syncer compares both sides every few seconds, and at once when a drain or a node has changed.
type Syncer struct {
	Client      client.Client
	Live        client.Reader // of kinds that are not watched
	Mapper      meta.RESTMapper
	Contract    *contract.Client
	Log         logr.Logger
	NotReady    func(*corev1.Node) (string, time.Time)
	Every       time.Duration
	NodeLost    time.Duration
	Calm        time.Duration // how long a node has to be well before what was carried over is undone
	GpuResource string
	Labels      bool // topology labels are written
	Drains      bool // drains and cordons are carried over
	HyperNodes  bool // Volcano's groups of nodes are written

	poke      chan struct{}
	once      sync.Once
	mutex     sync.Mutex
	known     map[string]contract.NodeLine
	drained   map[string]bool
	calmSince map[string]time.Time
	topology  map[string]map[string]string
	accepted  *contract.Fabric
	grouped   string // the nodes that Volcano's groups were written for
	fabric    bool   // the topology is to be read again

	usageMutex sync.Mutex
	usage      map[string]*usage
	usageAt    time.Time
}

func (s *Syncer) init() {
	s.once.Do(func() {
		s.poke, s.calmSince, s.fabric = make(chan struct{}, 1), map[string]time.Time{}, true
	})
}

// Poke has both sides compared now.
func (s *Syncer) Poke() {
	s.init()
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// Seen is called with every event of Railweave.
func (s *Syncer) Seen(event contract.Event) {
	switch event.Subject.Kind {
	case "topology":
		s.mutex.Lock()
		s.fabric = true
		s.mutex.Unlock()
		s.Poke()
	case "drain", "node":
		s.Poke()
	}
}

// Start runs on the leader until the context ends.
func (s *Syncer) Start(ctx context.Context) error {
	s.init()
	quiet := false
	for ctx.Err() == nil {
		if err := s.cycle(ctx); err != nil && ctx.Err() == nil {
			if !quiet {
				s.Log.Info("nodes are not compared now", "error", err.Error())
			}
			quiet = true
		} else {
			quiet = false
		}
		select {
		case <-ctx.Done():
		case <-s.poke:
		case <-time.After(s.Every):
		}
	}
	return nil
}

func (s *Syncer) cycle(ctx context.Context) error {
	lines, err := s.Contract.Nodes(ctx)
	if err != nil {
		return err
	}
	drains, err := s.Contract.NodeDrains(ctx)
	if err != nil {
		return err
	}
	known, reasons := map[string]contract.NodeLine{}, map[string]string{}
	for _, line := range lines {
		known[line.ID] = line
	}
	drained := map[string]bool{}
	for _, drain := range drains {
		drained[drain.ID], reasons[drain.ID] = true, drain.Reason
	}
	s.mutex.Lock()
	s.known, s.drained = known, drained
	s.mutex.Unlock()
	var nodes corev1.NodeList
	if err := s.Client.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil { // copied where they are changed
		return err
	}
	if s.Drains {
		for i := range nodes.Items {
			if _, both := known[nodes.Items[i].Name]; both {
				s.drain(ctx, &nodes.Items[i], drained, reasons)
			}
		}
	}
	if !s.Labels && !s.HyperNodes {
		return nil
	}
	if err := s.readTopology(ctx); err != nil {
		return err
	}
	if s.HyperNodes {
		if err := s.groups(ctx, nodes.Items); err != nil {
			return err
		}
	}
	if !s.Labels {
		return nil
	}
	return s.labels(ctx, nodes.Items, known)
}

// groups writes Volcano's when the fabric or the cluster's nodes have changed.
func (s *Syncer) groups(ctx context.Context, nodes []corev1.Node) error {
	present := map[string]bool{}
	var sorted []string
	for i := range nodes {
		present[nodes[i].Name] = true
		sorted = append(sorted, nodes[i].Name)
	}
	sort.Strings(sorted)
	grouped := strings.Join(sorted, " ")
	if grouped == s.grouped {
		return nil
	}
	if err := s.writeHyperNodes(ctx, present); err != nil {
		return err
	}
	s.grouped = grouped
	return nil
}

func (s *Syncer) drain(ctx context.Context, node *corev1.Node, drained map[string]bool, reasons map[string]string) {
	why, since := s.NotReady(node)
	pair := Pair{Name: node.Name, Cordoned: node.Spec.Unschedulable, CordonedFor: node.Annotations[names.Cordoned], NotReady: why,
		Drained: drained[node.Name], Reason: reasons[node.Name]}
	if why != "" {
		pair.NotReadyFor = time.Since(since)
	}
	if !pair.Calm(s.NodeLost) {
		delete(s.calmSince, node.Name)
	} else if began, found := s.calmSince[node.Name]; found {
		pair.CalmFor = time.Since(began)
	} else {
		s.calmSince[node.Name] = time.Now()
	}
	step := Decide(pair, s.NodeLost, s.Calm)
	if err := s.apply(ctx, node, step); err != nil {
		s.Log.Info("drain or cordon not carried over", "node", node.Name, "error", err.Error())
	}
}

func (s *Syncer) apply(ctx context.Context, node *corev1.Node, step Step) error {
	if step.Drain != "" {
		s.Log.Info("drained in Railweave", "node", node.Name, "reason", step.Drain)
		if err := s.Contract.Drain(ctx, node.Name, clip(step.Drain)); err != nil {
			return err
		}
	}
	if step.Undrain != "" {
		s.Log.Info("taken back into use in Railweave", "node", node.Name)
		if err := s.Contract.Undrain(ctx, node.Name, step.Undrain); err != nil {
			return err
		}
	}
	if step.Cordon == "" && !step.Uncordon && !step.Forget {
		return nil
	}
	changed := node.DeepCopy()
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	if step.Cordon != "" {
		changed.Spec.Unschedulable = true
		changed.Annotations[names.Cordoned] = step.Cordon
	} else {
		delete(changed.Annotations, names.Cordoned)
		if step.Uncordon {
			changed.Spec.Unschedulable = false
		}
	}
	s.Log.Info("cordon carried over", "node", node.Name, "unschedulable", changed.Spec.Unschedulable, "reason", step.Cordon)
	return s.Client.Patch(ctx, changed, client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{}))
}

func clip(text string) string { return text[:min(len(text), 500)] }

// EnsureDrained has lost nodes drained with a reason that is ours, so that it is undone when they are back.
func (s *Syncer) EnsureDrained(ctx context.Context, lost []string, why func(string) string) error {
	if !s.Drains {
		return nil
	}
	for _, node := range lost {
		s.mutex.Lock()
		known, drained := s.known[node].ID != "", s.drained[node]
		s.mutex.Unlock()
		if !known || drained {
			continue
		}
		if err := s.Contract.Drain(ctx, node, clip(OurReason+why(node))); err != nil {
			return err
		}
	}
	return nil
}

func (s *Syncer) readTopology(ctx context.Context) error {
	s.mutex.Lock()
	again := s.fabric
	s.fabric = false
	s.mutex.Unlock()
	if !again {
		return nil
	}
	fabric, err := s.Contract.Fabric(ctx)
	if err != nil {
		s.mutex.Lock()
		s.fabric = true
		s.mutex.Unlock()
		return err
	}
	s.topology, s.accepted, s.grouped = Topology(fabric), fabric, ""
	return nil
}

func (s *Syncer) labels(ctx context.Context, nodes []corev1.Node, known map[string]contract.NodeLine) error {
	var facts []contract.NodeFacts
	for i := range nodes {
		node := &nodes[i]
		line, both := known[node.Name]
		if !both {
			continue
		}
		written := node.Annotations[names.LabelsOfOurs]
		if own := Facts(node.Labels, written, line.Labels); len(own) > 0 {
			facts = append(facts, contract.NodeFacts{ID: node.Name, Labels: own})
		}
		changed := Relabel(node.Labels, written, s.topology[node.Name])
		if !changed.Changes(written) {
			continue
		}
		if err := s.relabel(ctx, node, changed); err != nil {
			s.Log.Info("labels not written", "node", node.Name, "error", err.Error())
		}
	}
	if len(facts) == 0 {
		return nil
	}
	return s.Contract.SetNodes(ctx, facts)
}

func (s *Syncer) relabel(ctx context.Context, node *corev1.Node, changed Relabelled) error {
	labels := map[string]any{}
	for name, value := range changed.Set {
		labels[name] = value
	}
	for _, name := range changed.Remove {
		labels[name] = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": node.ResourceVersion, "labels": labels, "annotations": map[string]any{names.LabelsOfOurs: changed.Written}}})
	if err != nil {
		return fmt.Errorf("labels of %s: %w", node.Name, err)
	}
	return s.Client.Patch(ctx, node, client.RawPatch("application/merge-patch+json", patch))
}
