package controller

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/placement"
)

// pinned is the affinity that lets the pod run on that node alone. What the pod says itself stays: a gated pod's affinity may
// only be added to.
func pinned(affinity *corev1.Affinity, node string) *corev1.Affinity {
	pinned := affinity.DeepCopy()
	if pinned == nil {
		pinned = &corev1.Affinity{}
	}
	if pinned.NodeAffinity == nil {
		pinned.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := pinned.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		required = &corev1.NodeSelector{}
		pinned.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	}
	if len(required.NodeSelectorTerms) == 0 {
		required.NodeSelectorTerms = []corev1.NodeSelectorTerm{{}}
	}
	for i := range required.NodeSelectorTerms {
		required.NodeSelectorTerms[i].MatchFields = append(required.NodeSelectorTerms[i].MatchFields,
			corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}})
	}
	return pinned
}

func withoutGate(pod *corev1.Pod) {
	var gates []corev1.PodSchedulingGate
	for _, gate := range pod.Spec.SchedulingGates {
		if gate.Name != names.Gate {
			gates = append(gates, gate)
		}
	}
	pod.Spec.SchedulingGates = gates
}

func put(pod *corev1.Pod, values map[string]string) {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	for name, value := range values {
		if value != "" {
			pod.Annotations[name] = value
		}
	}
}

func (r *Reconciler) patch(ctx context.Context, pod, changed *corev1.Pod) error {
	return r.Client.Patch(ctx, changed, client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{}))
}

// ungate pins the pod and removes its gate, with everything that its template reads by fieldRef, in one patch.
func (r *Reconciler) ungate(ctx context.Context, v *view, i int) error {
	pod, member := v.pods[i], v.situation.Members[i]
	if member.Position >= len(v.held.Chunks) {
		return fmt.Errorf("job %s has places for %d pods, and pod %s is number %d", v.held.Job.ID, len(v.held.Chunks), pod.Name, member.Position)
	}
	chunk := v.held.Chunks[member.Position]
	hosts := map[string]bool{}
	for _, one := range v.held.Chunks {
		hosts[one.Node] = true
	}
	changed := pod.DeepCopy()
	if group.Extended(pod) {
		// Nothing else of it can be changed; a label has the scheduler try it again.
		if changed.Labels == nil {
			changed.Labels = map[string]string{}
		}
		changed.Labels[names.Job] = v.held.Job.ID
	} else {
		changed.Spec.Affinity = pinned(pod.Spec.Affinity, chunk.Node)
		withoutGate(changed)
	}
	values := map[string]string{names.Job: v.held.Job.ID, names.Node: chunk.Node, names.PodIndex: strconv.Itoa(member.Position),
		names.Ranks: placement.Runs(chunk.Ranks), names.Gpus: placement.Runs(chunk.Gpus), names.Rails: placement.Runs(chunk.Rails),
		names.Hosts: strconv.Itoa(len(hosts)), names.Hca: chunk.Hca()}
	for _, mark := range names.Marks {
		values[mark.Annotation()] = cmp.Or(chunk.Env[mark.Variable], mark.Unset)
	}
	put(changed, values)
	if err := r.patch(ctx, pod, changed); err != nil {
		return err
	}
	return r.tellPlacedPod(ctx, changed, v.held.Job.ID, chunk.Node)
}

func (r *Reconciler) lift(ctx context.Context, pod *corev1.Pod, why string) error {
	changed := pod.DeepCopy()
	withoutGate(changed)
	if group.Extended(pod) {
		changed.Labels = map[string]string{names.Lifted: "true"}
		maps.Copy(changed.Labels, pod.Labels)
	}
	put(changed, map[string]string{names.Lifted: time.Now().UTC().Format(time.RFC3339)})
	if err := r.patch(ctx, pod, changed); err != nil {
		return err
	}
	return r.setCondition(ctx, changed, corev1.PodCondition{Type: names.PlacedCondition, Status: corev1.ConditionFalse, Reason: "GateLifted", Message: why})
}

func (r *Reconciler) annotate(ctx context.Context, pod *corev1.Pod, values map[string]string) error {
	changed := pod.DeepCopy()
	put(changed, values)
	err := r.patch(ctx, pod, changed)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
