package controller

import (
	"context"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/nodes"
)

// Pods that are placed by themselves, or not at all.

// leave takes the gate off a pod that Railweave does not place, and says why.
func (r *Reconciler) leave(ctx context.Context, pod *corev1.Pod, why string) error {
	if err := r.loose(ctx, pod); err != nil {
		return err
	}
	changed := pod.DeepCopy()
	withoutGate(changed)
	put(changed, map[string]string{names.Left: clipped(why)})
	if err := r.patch(ctx, pod, changed); err != nil {
		return err
	}
	r.counts.left.WithLabelValues("kind").Inc()
	return r.tellLeft(ctx, changed, why)
}

func (r *Reconciler) tellLeft(ctx context.Context, pod *corev1.Pod, why string) error {
	r.event(pod, corev1.EventTypeWarning, "LeftToScheduler", "Railweave does not place it: "+why)
	return r.setCondition(ctx, pod, corev1.PodCondition{Type: names.PlacedCondition, Status: corev1.ConditionFalse, Reason: "LeftToScheduler", Message: "left to the scheduler: " + why})
}

// untold says that the pod was left to the scheduler when it was made, and that nothing was said of it yet.
func untold(pod *corev1.Pod) bool {
	if pod.Annotations[names.Left] == "" || group.Gated(pod) || pod.DeletionTimestamp != nil || group.Finished(pod) {
		return false
	}
	for _, one := range pod.Status.Conditions {
		if one.Type == names.PlacedCondition {
			return false
		}
	}
	return true
}

// claims says that the pod may hold GPUs by claims, whatever it says itself.
func claims(pod *corev1.Pod) bool { return len(pod.Spec.ResourceClaims) > 0 && !group.Finished(pod) }

// count writes how many GPUs the pods claim, and corrects what they say themselves; true where something was written, which brings the group
// back. `left` is why they cannot be placed, and `again` when claims that are not there yet are looked for.
func (r *Reconciler) count(ctx context.Context, pods []*corev1.Pod, remembered *memory) (written bool, left string, again time.Duration, err error) {
	if r.Owners.Claims == nil {
		return false, "", 0, nil
	}
	for _, pod := range pods {
		if len(pod.Spec.ResourceClaims) == 0 || group.Finished(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		counted, known := remembered.claims[pod.UID]
		if !known {
			if counted, err = r.Owners.Claims.Of(ctx, pod, pod.Namespace); err != nil {
				return written, left, 0, err
			}
			if counted.Missing == "" {
				remembered.claims[pod.UID] = counted
			} else {
				again = claimsAgain
			}
		}
		if left == "" {
			left = counted.Unknown
		}
		if text := strconv.Itoa(counted.Gpus); pod.Annotations[names.ClaimedGpus] != text {
			if err := r.annotate(ctx, pod, map[string]string{names.ClaimedGpus: text}); err != nil {
				return written, left, again, err
			}
			written = true
		}
	}
	return written, left, again, nil
}

// preempts is why the group is left to Kubernetes where it waits in Railweave's queue: its PriorityClass has the scheduler take GPUs from pods
// of lower ones, and Railweave does not do so itself. With a priority of the operator's table Railweave goes first.
func (r *Reconciler) preempts(ctx context.Context, v *view, first *corev1.Pod, remembered *memory) string {
	held := v.held
	if first == nil || held.Job.State != "queued" || held.Job.Waits == nil || !forRoom[held.Job.Waits.Code] || first.Spec.Priority == nil || *first.Spec.Priority <= 0 ||
		first.Spec.PreemptionPolicy != nil && *first.Spec.PreemptionPolicy == corev1.PreemptNever {
		return ""
	}
	wait := preemptAfter
	if r.Options.Rules().Mapped(first.Spec.PriorityClassName) {
		wait = max(preemptAfter, 2*r.Options.Patience)
	}
	if remembered.queued.IsZero() {
		remembered.queued = time.Now()
	}
	if left := wait - time.Since(remembered.queued); left > 0 {
		v.after(left + 100*time.Millisecond)
		return ""
	}
	v.after(preemptAgain)
	if !r.couldPreempt(ctx, first, v) {
		return ""
	}
	return "its PriorityClass " + first.Spec.PriorityClassName + " has the scheduler make room for it among pods of lower priority, which Railweave's queue does not: " + held.Job.Waits.Reason
}

// uneven is why the scheduler places a group for which Railweave has no place.
const uneven = "all of its pods fit on nodes now, not in equal numbers, which Railweave places: "

// fitsUnevenly is why the group is left to Kubernetes where it waits for capacity and for no other job: its pods fit on nodes now, some of which
// would have more of them than others.
func (r *Reconciler) fitsUnevenly(ctx context.Context, v *view, first *corev1.Pod, remembered *memory) string {
	held := v.held
	if first == nil || held.Job.State != "queued" || held.Job.Waits == nil || held.Job.Waits.Code != "noCapacity" && held.Job.Waits.Code != "neverFits" {
		return ""
	}
	if remembered.queued.IsZero() {
		remembered.queued = time.Now()
	}
	v.after(preemptAgain)
	// What Railweave has been told of nodes and pods, and what it has not yet, agrees by then.
	if left := r.Options.Patience - time.Since(remembered.queued); left > 0 {
		v.after(left + 100*time.Millisecond)
		return ""
	}
	site, err := r.Site.Of(ctx, first, &v.demand, v.situation.Size, nil)
	if err != nil || !site.Uneven {
		return ""
	}
	return uneven + held.Job.Waits.Reason
}

const claimsAgain = 5 * time.Second

const (
	preemptAfter = 500 * time.Millisecond
	preemptAgain = 10 * time.Second
)

// forRoom is the reasons to wait that end when others give up their GPUs.
var forRoom = map[string]bool{"noCapacity": true, "behind": true, "wouldDelay": true, "noKnownTime": true}

// couldPreempt says that the scheduler would find room for all pods of the group by ending pods of lower priority.
func (r *Reconciler) couldPreempt(ctx context.Context, first *corev1.Pod, v *view) bool {
	site, err := r.Site.Of(ctx, first, &v.demand, v.situation.Size, nil)
	var pods corev1.PodList
	if err != nil || r.Client.List(ctx, &pods, client.UnsafeDisableDeepCopy) != nil {
		return false
	}
	higher, lower := map[string]int{}, map[string]int{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Spec.NodeName == "" || group.Finished(pod) {
			continue
		}
		gpus := group.Gpus(pod, r.Options.GpuResource)
		if pod.Spec.Priority != nil && *pod.Spec.Priority >= *first.Spec.Priority {
			higher[pod.Spec.NodeName] += gpus
		} else {
			lower[pod.Spec.NodeName] += gpus
		}
	}
	room, ends := 0, false
	for _, name := range site.Usable {
		node := &corev1.Node{}
		if site.Repelling[name] || r.Client.Get(ctx, client.ObjectKey{Name: name}, node) != nil || node.Spec.Unschedulable || hurt(node) {
			continue
		}
		offered := group.Offered(node.Status.Allocatable, r.Options.GpuResource)
		fits := max(0, offered-higher[name]) / v.demand.Gpus
		room += fits
		ends = ends || fits > 0 && lower[name] > 0
	}
	return ends && room >= v.situation.Size
}

// closedTo is why the pod does not begin on the node, "" where it may.
func closedTo(pod *corev1.Pod, node *corev1.Node) string {
	if node.Spec.Unschedulable {
		return "it is cordoned"
	}
	if pod == nil {
		return ""
	}
	if taint := nodes.Untolerated(pod, node); taint != "" {
		return "it has the taint " + strings.TrimSpace(taint) + ", which the pods do not tolerate"
	}
	return ""
}
