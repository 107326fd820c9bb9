// Package controller carries out what package plan decides, for one group of pods at a time.
package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/placement"
	"railweave.dev/kubernetes/plan"
	"railweave.dev/kubernetes/policy"
)

// GroupIndex is the cache's index of pods by group, JobIndex by the name that the group's job has.
const GroupIndex = "railweave.group"

// Options are what the operator sets.
type Options struct {
	Cluster     string
	GpuResource string         // names of resources, with commas between them
	Policy      *policy.Source // what namespaces may ask for
	Claims      *group.Claims  // may be nil
	Lift        bool           // gates are lifted while Railweave is away
	Grace       time.Duration  // after so long
	Patience    time.Duration  // how long a pinned pod may wait for its node, and a group for pods that are missing
	NodeLost    time.Duration  // how long a node may be not ready before its pods are placed elsewhere
	Steps       Steps          // how much Railweave decides, and where
	AdoptOthers bool           // pods with GPUs that never were gated are known to Railweave too
}

// Rules are those in force.
func (o *Options) Rules() *policy.Policy { return o.Policy.Now() }

// Site says where pods may run.
type Site interface {
	Of(ctx context.Context, pod *corev1.Pod, demand *group.Demand, size int, without map[string]bool) (placement.Site, error)
	EnsureDrained(ctx context.Context, lost []string, why func(string) string) error
}

// Reconciler brings one group at a time to where it shall be.
type Reconciler struct {
	Client   client.Client
	Owners   *group.Owners
	Book     *placement.Book
	Site     Site
	Recorder events.EventRecorder
	Log      logr.Logger
	Options  Options

	nodesChanged atomic.Int64 // how often what pods choose nodes by has changed
	resited      chan struct{}

	counts  counts
	telling *rate.Limiter // conditions of pods that are written per second
	helping *rate.Limiter // what-ifs per second, asked for what would help

	mutex    sync.Mutex
	memories map[group.Key]*memory
	keys     map[string]group.Key // by the name of the group's job
}

// memory is what is known of a group beside what the API server and Railweave hold; nothing is lost with it but patience.
type memory struct {
	missing      time.Time            // since when pods are missing
	failed       map[string]time.Time // nodes on which a pod of it could not begin, and until when they are avoided
	cannotRepair string               // the job that could not be repaired
	refused      string
	saved        string    // the newest time of a saved state that was told
	sited        int64     // number of changes of nodes that its job knows
	avoiding     int       // number of nodes that it was told to avoid
	inUse        bool      // its job was told of nodes that it may not have only as long as their GPUs are used
	looked       time.Time // when that was looked at
	retry        time.Time // when a refused request is tried again
	told         string    // the reason that its pods were told, without what would help
	text         string    // and with it
	toldAt       time.Time
	tellAfter    time.Duration // until a reason that has changed is told
	noSpare      time.Time     // when there was no room to move ranks to
	orphaned     time.Time     // since when its owner is gone
	failing      time.Time     // since when Railweave fails to answer about it
	queued       time.Time     // since when it waits for others to give up GPUs
	claims       map[types.UID]group.Counted
	waiting      atomic.Int64 // pods
	placed       atomic.Int64
	name         string
}

func (r *Reconciler) memory(key group.Key) *memory {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.memories == nil {
		r.memories, r.keys = map[group.Key]*memory{}, map[string]group.Key{}
	}
	if r.memories[key] == nil {
		r.memories[key] = &memory{failed: map[string]time.Time{}, claims: map[types.UID]group.Counted{}, name: key.JobName(r.Options.Cluster)}
		r.keys[r.memories[key].name] = key
	}
	return r.memories[key]
}

// For how long a group does not go again where a pod of it could not begin. GPUs that others have taken are soon known to Railweave.
const (
	avoidedFor     = 10 * time.Minute
	avoidedForGpus = 30 * time.Second
)

func (m *memory) avoided() map[string]bool {
	nodes := map[string]bool{}
	for node, until := range m.failed {
		if time.Now().Before(until) {
			nodes[node] = true
		}
	}
	return nodes
}

// avoid has the group not go to the node for a while, because of what the scheduler says.
func (m *memory) avoid(node, why, resources string) {
	until := avoidedFor
	for resource := range strings.SplitSeq(resources, ",") {
		if strings.Contains(why, "Insufficient "+resource) {
			until = avoidedForGpus
		}
	}
	m.failed[node] = time.Now().Add(until)
}

// untilAllowed is when the first of them is avoided no more; 0 where none is.
func (m *memory) untilAllowed() (first time.Duration) {
	for _, until := range m.failed {
		if left := time.Until(until); left > 0 && (first == 0 || left < first) {
			first = left
		}
	}
	return first
}

// forget is called when no trace of the group is left; where its pods could not begin is remembered, as they may come back.
func (r *Reconciler) forget(key group.Key) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if held := r.memories[key]; held != nil && len(held.avoided()) > 0 {
		return
	}
	delete(r.memories, key)
	delete(r.keys, key.JobName(r.Options.Cluster))
}

// Reconcile is called with a group whenever one of its pods, its job or a node of it has changed.
func (r *Reconciler) Reconcile(ctx context.Context, key group.Key) (reconcile.Result, error) {
	again, err := r.reconcile(ctx, key)
	switch {
	case err == nil:
		return reconcile.Result{RequeueAfter: again}, nil
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		// The cache is behind; what changed the pod brings the group back.
		return reconcile.Result{RequeueAfter: 200 * time.Millisecond}, nil
	case errors.Is(err, placement.ErrChanged):
		return reconcile.Result{RequeueAfter: 20 * time.Millisecond}, nil
	case contract.Away(err):
		r.Log.Info("cannot be decided now", "group", key.String(), "error", err.Error())
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return reconcile.Result{}, err
}

func (r *Reconciler) pods(ctx context.Context, key group.Key) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := r.Client.List(ctx, &list, client.InNamespace(key.Namespace), client.MatchingFields{GroupIndex: key.String() + "/" + key.UID}); err != nil {
		return nil, err
	}
	pods := make([]*corev1.Pod, 0, len(list.Items))
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	return pods, nil
}

func (r *Reconciler) reconcile(ctx context.Context, key group.Key) (time.Duration, error) {
	pods, err := r.pods(ctx, key)
	if err != nil {
		return 0, err
	}
	if len(pods) > 0 && key.Kind == group.SinglePod && !group.Managed(pods[0]) && !r.Options.AdoptOthers {
		return 0, nil
	}
	remembered := r.memory(key)
	written, left, uncounted, err := r.count(ctx, pods, remembered)
	if err != nil || written {
		return 0, err
	}
	for _, pod := range pods {
		if untold(pod) {
			return 0, r.tellLeft(ctx, pod, pod.Annotations[names.Left])
		}
	}
	layout, err := r.Owners.Layout(ctx, key, pods)
	if err != nil {
		return 0, r.troubled(ctx, pods, fmt.Errorf("the owner of %s: %w", key, err))
	}
	if left != "" {
		layout.Left = left
	}
	view := r.look(ctx, key, pods, layout, remembered)
	if view.err != nil {
		return 0, view.err
	}
	view.remember(remembered)
	view.after(uncounted)
	decided := plan.Make(&view.situation)
	if r.Options.Steps.Observes(key.Namespace) {
		decided = plan.Observed(&view.situation, decided)
	}
	if view.refused != "" && decided.Submit {
		decided.Submit, decided.Waits = false, view.refused
		r.counts.refused.Inc()
	}
	asked := time.Now()
	if err := r.carryOut(ctx, key, view, &decided, remembered); contract.Away(err) {
		if remembered.failing.IsZero() {
			remembered.failing = asked
		}
		return 0, r.troubled(ctx, pods, err)
	} else if err != nil {
		return 0, err
	}
	remembered.failing = time.Time{}
	if len(pods) == 0 && view.situation.Placement == nil && !view.situation.Suspended {
		r.forget(key)
		return 0, nil
	}
	again := view.again
	if decided.Again > 0 && (again == 0 || decided.Again < again) {
		again = decided.Again
	}
	return again, nil
}

// troubled says on pods that wait and were told nothing else that something is wrong, and returns the error.
func (r *Reconciler) troubled(ctx context.Context, pods []*corev1.Pod, why error) error {
	for _, pod := range pods {
		if group.Gated(pod) && r.telling.Allow() {
			if err := r.condition(ctx, pod, why.Error()); err != nil {
				return err
			}
		}
	}
	return why
}

// view is a situation with the objects that its members are made of.
type view struct {
	situation plan.Situation
	pods      []*corev1.Pod // of each member
	held      *placement.Held
	demand    group.Demand
	sample    *corev1.Pod // one that lives
	refused   string
	again     time.Duration
	err       error
}

func (v *view) after(wait time.Duration) {
	if wait > 0 && (v.again == 0 || wait < v.again) {
		v.again = wait
	}
}

func (r *Reconciler) look(ctx context.Context, key group.Key, pods []*corev1.Pod, layout group.Layout, remembered *memory) *view {
	v := &view{}
	v.situation = plan.Situation{Size: layout.Size, Unknown: layout.Unknown, Ended: layout.Ended, Patience: r.Options.Patience,
		Suspendable: layout.Suspendable && key.Kind == group.IndexedJob, Suspended: layout.Suspended, Left: layout.Left,
		Lost: map[string]string{}, Closed: map[string]string{}, There: map[string]bool{}}
	var present []*corev1.Pod
	for _, pod := range pods {
		if group.Gpus(pod, r.Options.GpuResource) == 0 && !group.Gated(pod) {
			continue
		}
		if pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			v.situation.There[pod.Spec.NodeName] = true
		}
		if pod.DeletionTimestamp == nil {
			present = append(present, pod)
		} else if lost, _ := r.lost(ctx, pod.Spec.NodeName, pod); lost == "" || pod.Spec.NodeName == "" {
			v.situation.Members = append(v.situation.Members, plan.Member{Name: pod.Name, Leaving: true, Position: -1})
			v.pods = append(v.pods, pod)
		}
	}
	if len(present) > 0 {
		v.sample = present[0]
		r.demandOf(v, present)
	}
	r.members(ctx, v, key, present, layout)
	// A pod that is placed alone is another group when it comes back.
	v.demand.Checkpointable = v.demand.Checkpointable && key.Kind != group.SinglePod && !slices.ContainsFunc(v.situation.Members, func(one plan.Member) bool {
		return !one.Leaving && !one.Owned
	})
	v.situation.Checkpointable = v.demand.Checkpointable
	r.placementOf(ctx, v, remembered)
	v.situation.NoSpare = !remembered.noSpare.IsZero() && time.Since(remembered.noSpare) < movesAgain
	if !layout.Ended || len(present) == 0 {
		remembered.orphaned = time.Time{}
	} else if remembered.orphaned.IsZero() {
		remembered.orphaned = time.Now()
	} else {
		v.situation.Orphaned = time.Since(remembered.orphaned)
	}
	r.missing(v, remembered)
	if time.Now().Before(remembered.retry) {
		v.refused = remembered.refused
		v.after(time.Until(remembered.retry))
	}
	return v
}

// demandOf reads what the pods ask for. What runs already is held, also where it asks for what it may not have.
func (r *Reconciler) demandOf(v *view, present []*corev1.Pod) {
	demand, err := group.DemandOf(v.sample, r.Options.GpuResource, r.Options.Rules())
	if err != nil && !slices.ContainsFunc(present, group.Gated) {
		if plain, wrong := group.Plain(v.sample, r.Options.GpuResource, r.Options.Rules()); wrong == nil {
			demand, err = plain, nil
		}
	}
	v.demand = demand
	if err != nil {
		v.refused = err.Error()
	}
}

// movesAgain is how long after there was no room for ranks they are tried to be moved again.
const movesAgain = 9 * time.Second

func (r *Reconciler) members(ctx context.Context, v *view, key group.Key, present []*corev1.Pod, layout group.Layout) {
	together := make([]*corev1.Pod, 0, len(present))
	for _, pod := range present {
		if group.Gated(pod) && layout.Alone(pod) {
			v.situation.Members = append(v.situation.Members, plan.Member{Name: pod.Name, Gated: true, Alone: true, Position: -1})
			v.pods = append(v.pods, pod)
		} else {
			together = append(together, pod)
		}
	}
	for at, pod := range group.Positions(together, key, layout) {
		if group.Failed(pod) {
			continue
		}
		if gpus := group.Gpus(pod, r.Options.GpuResource); v.refused == "" && gpus != v.demand.Gpus {
			v.refused = fmt.Sprintf("its pods ask for different numbers of GPUs: %d and %d; those of one group ask for the same", v.demand.Gpus, gpus)
		}
		member := plan.Member{Name: pod.Name, Position: at, Gated: group.Gated(pod), Node: pod.Spec.NodeName, Pinned: pod.Annotations[names.Node],
			Job: pod.Annotations[names.Job], Lifted: pod.Annotations[names.Lifted] != "", Running: pod.Status.Phase == corev1.PodRunning,
			Ended: pod.Status.Phase == corev1.PodSucceeded, Owned: len(pod.OwnerReferences) > 0}
		if member.Gated {
			member.Pinned, member.Job, member.Lifted = "", "", false
		}
		if !member.Gated && member.Node == "" {
			member.Stuck = r.stuck(v, pod)
		}
		r.nodeOf(ctx, v, member.Node)
		r.nodeOf(ctx, v, member.Pinned)
		v.situation.Members = append(v.situation.Members, member)
		v.pods = append(v.pods, pod)
	}
}

// stuck is why the scheduler does not bind the pod, once the patience is over.
func (r *Reconciler) stuck(v *view, pod *corev1.Pod) string {
	if pod.Status.NominatedNodeName != "" {
		return "" // it preempts
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type != corev1.PodScheduled || condition.Status != corev1.ConditionFalse || condition.Reason != corev1.PodReasonUnschedulable {
			continue
		}
		if left := r.Options.Patience - time.Since(condition.LastTransitionTime.Time); left > 0 {
			v.after(left + time.Second)
			return ""
		}
		return condition.Message
	}
	return ""
}

func (r *Reconciler) nodeOf(ctx context.Context, v *view, name string) {
	if name == "" {
		return
	}
	lost, closed := r.lost(ctx, name, v.sample)
	if lost != "" {
		v.situation.Lost[name] = lost
	}
	if closed != "" {
		v.situation.Closed[name] = closed
	}
	if lost == "" {
		v.after(r.untilLost(ctx, name))
	}
}

func (r *Reconciler) placementOf(ctx context.Context, v *view, remembered *memory) {
	held, err := r.Book.Held(ctx, remembered.name, v.demand.Gpus)
	failing := time.Duration(0) // it can be reached, and answers with errors
	if !remembered.failing.IsZero() {
		failing = time.Since(remembered.failing)
	}
	if contract.Away(err) || failing >= r.Options.Grace && r.Options.Lift && held == nil {
		away := max(r.Book.Away(), failing)
		v.situation.Away = true
		v.situation.Lift = r.Options.Lift && away >= r.Options.Grace
		if r.Options.Lift {
			v.after(r.Options.Grace - away)
		}
		v.after(5 * time.Second)
		return
	}
	if err != nil {
		v.err = err
		return
	}
	if held == nil {
		return
	}
	v.held = held
	at := &plan.Placement{ID: held.Job.ID, Placed: held.Job.State == "placed", Adopted: held.Adopted()}
	if at.Placed && held.Job.Launcher != nil {
		at.Phase = held.Job.Phase
		if release := held.Job.Launcher.Release; release != nil {
			at.Release = release.Reason
		}
		at.Offered = held.Job.Launcher.Move != nil && held.Job.Launcher.Move.State == "offered"
		for _, gpu := range held.Job.Launcher.Left {
			if node := gpu[:max(0, strings.LastIndex(gpu, ":"))]; !slices.Contains(at.Left, node) {
				at.Left = append(at.Left, node)
			}
		}
	}
	for _, chunk := range held.Chunks {
		at.Nodes = append(at.Nodes, chunk.Node)
		r.nodeOf(ctx, v, chunk.Node)
	}
	if held.Job.Waits != nil {
		at.Reason = held.Job.Waits.Reason
	} else if !at.Placed {
		at.Reason = "waits for its turn in Railweave's queue"
	}
	v.situation.Placement = at
	if !at.Placed {
		v.after(remembered.untilAllowed())
		v.situation.Yields = cmp.Or(r.preempts(ctx, v, v.sample, remembered), r.fitsUnevenly(ctx, v, v.sample, remembered))
	} else {
		remembered.queued = time.Time{}
	}
	v.situation.CannotRepair = remembered.cannotRepair == held.Job.ID
}

// missing says for how long pods have been missing.
func (r *Reconciler) missing(v *view, remembered *memory) {
	present := 0
	for _, member := range v.situation.Members {
		if !member.Leaving && !member.Ended {
			present++
		}
		if !member.Leaving && member.Ended && len(v.situation.Members) > 0 {
			present++
		}
	}
	if present >= v.situation.Size && present > 0 {
		remembered.missing = time.Time{}
		return
	}
	if remembered.missing.IsZero() {
		remembered.missing = time.Now()
	}
	v.situation.Missing = time.Since(remembered.missing)
}
