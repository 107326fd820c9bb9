package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
)

const (
	// Reasons have numbers in them that change with every job: each time they are told less soon.
	tellAgain     = 10 * time.Second
	tellAtLast    = 5 * time.Minute
	toldPerSecond = 50 // pods, so that groups that are placed do not wait for those that are not
	toldAtOnce    = 400
	mostReason    = 1000 // characters
)

func (r *Reconciler) event(pod *corev1.Pod, kind, reason, text string) {
	r.Recorder.Eventf(pod, nil, kind, reason, "Placing", "%s", clipped(text))
}

func clipped(text string) string { return text[:min(len(text), mostReason)] }

func (r *Reconciler) tellPlaced(v *view, members []int, remembered *memory) {
	remembered.told, remembered.text, remembered.toldAt, remembered.tellAfter = "", "", time.Time{}, 0
	first := members[0]
	for _, i := range members {
		if v.situation.Members[i].Position < v.situation.Members[first].Position {
			first = i
		}
	}
	r.event(v.pods[first], corev1.EventTypeNormal, "Placed", fmt.Sprintf("%s: %d pods of %d GPUs, this one on node %s", v.held.Job.ID,
		len(v.held.Chunks), v.demand.Gpus, v.held.Chunks[v.situation.Members[first].Position].Node))
}

// tellPlacedPod ends what was said while the pod waited.
func (r *Reconciler) tellPlacedPod(ctx context.Context, pod *corev1.Pod, job, node string) error {
	for _, one := range pod.Status.Conditions {
		if one.Type == names.PlacedCondition && one.Status != corev1.ConditionTrue {
			return r.setCondition(ctx, pod, corev1.PodCondition{Type: names.PlacedCondition, Status: corev1.ConditionTrue, Reason: "Placed",
				Message: fmt.Sprintf("%s places it on node %s", job, node)})
		}
	}
	return nil
}

// tellWaits writes why the group waits: a condition of each of its pods that are gated, and an event of the first.
func (r *Reconciler) tellWaits(ctx context.Context, key group.Key, v *view, reason string, remembered *memory) error {
	first, gated := v.waiting()
	if reason == "" || first < 0 {
		return nil
	}
	left := remembered.tellAfter - time.Since(remembered.toldAt)
	if reason == remembered.told || left > 0 && remembered.told != "" {
		if reason != remembered.told {
			v.after(left)
		}
		// Pods that came since are told what the others were.
		reason, gated = remembered.text, v.untold(gated)
		if len(gated) == 0 {
			return nil
		}
	}
	if !r.telling.AllowN(time.Now(), min(len(gated), toldAtOnce)) {
		v.after(time.Second + rand.N(2*time.Second))
		return nil
	}
	again := reason != "" && reason == remembered.text
	if !again {
		reason = clipped(r.withHelp(ctx, key, v, reason))
	}
	err := each(gated, func(i int) error { return r.condition(ctx, v.pods[i], reason) })
	if err == nil && !again {
		r.event(v.pods[first], corev1.EventTypeNormal, "WaitsForPlacement", reason)
		remembered.told, remembered.text, remembered.toldAt = v.waits(reason), reason, time.Now()
		remembered.tellAfter = min(max(2*remembered.tellAfter, tellAgain), tellAtLast)
	}
	return err
}

// waiting is the first pod of the group, -1 where it has none, and those that are gated.
func (v *view) waiting() (first int, gated []int) {
	first = -1
	for i, member := range v.situation.Members {
		if member.Leaving || member.Ended {
			continue
		}
		if first < 0 || member.Position < v.situation.Members[first].Position {
			first = i
		}
		if member.Gated {
			gated = append(gated, i)
		}
	}
	return first, gated
}

// untold is those of the pods that have no reason yet.
func (v *view) untold(pods []int) (untold []int) {
	for _, i := range pods {
		told := false
		for _, one := range v.pods[i].Status.Conditions {
			told = told || one.Type == names.PlacedCondition
		}
		if !told {
			untold = append(untold, i)
		}
	}
	return untold
}

// waits is the reason without what would help, which is asked for once.
func (v *view) waits(reason string) string {
	if v.situation.Placement != nil && v.situation.Placement.Reason != "" {
		return v.situation.Placement.Reason
	}
	return reason
}

// withHelp adds what would have the job placed now.
func (r *Reconciler) withHelp(ctx context.Context, key group.Key, v *view, reason string) string {
	if v.held == nil || v.held.Job.Waits == nil || v.held.Job.Waits.Code != "noCapacity" || v.refused != "" || !r.helping.Allow() {
		return reason
	}
	parallelism, err := v.demand.Filled(v.situation.Size)
	if err != nil {
		return reason
	}
	body := r.Book.WhatIf(key, v.demand, parallelism)
	answer, err := r.Book.Client.QueryRanks(ctx, body)
	if err != nil {
		return reason
	}
	return reason + answer.Explanation.Help()
}

func (r *Reconciler) condition(ctx context.Context, pod *corev1.Pod, reason string) error {
	return r.setCondition(ctx, pod, corev1.PodCondition{Type: names.PlacedCondition, Status: corev1.ConditionFalse, Reason: "Waits", Message: reason})
}

func (r *Reconciler) setCondition(ctx context.Context, pod *corev1.Pod, wanted corev1.PodCondition) error {
	wanted.Message = clipped(wanted.Message)
	changed := pod.DeepCopy()
	wanted.LastTransitionTime = metav1.Now()
	found := false
	for i := range changed.Status.Conditions {
		if one := &changed.Status.Conditions[i]; one.Type == wanted.Type {
			if one.Message == wanted.Message && one.Status == wanted.Status {
				return nil
			}
			if one.Status == wanted.Status {
				wanted.LastTransitionTime = one.LastTransitionTime
			}
			*one, found = wanted, true
		}
	}
	if !found {
		changed.Status.Conditions = append(changed.Status.Conditions, wanted)
	}
	// Conditions are a list that is merged by type, so that those of others are never undone.
	return client.IgnoreNotFound(r.Client.Status().Patch(ctx, changed, client.StrategicMergeFrom(pod)))
}
