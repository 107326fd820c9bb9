package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/names"
)

// tellSaved tells Railweave when a group that runs has last saved its state, by what its pods say: less is lost where it moves or makes way then.
func (r *Reconciler) tellSaved(ctx context.Context, v *view, remembered *memory) error {
	if v.held == nil || v.held.Job.State != "placed" || v.held.Job.Phase != "running" {
		return nil
	}
	newest, by := v.saved()
	if by == nil || remembered.saved == by.Annotations[names.Checkpointed] {
		return nil
	}
	if known := v.held.Job.CheckpointedAt; known != nil {
		if at, err := time.Parse(time.RFC3339, *known); err == nil && !newest.IsZero() && !newest.After(at) {
			return nil
		}
	}
	remembered.saved = by.Annotations[names.Checkpointed]
	if newest.IsZero() {
		r.event(by, corev1.EventTypeWarning, "NotCheckpointed", "annotation "+names.Checkpointed+" is \""+remembered.saved+"\"; write a time like 2026-03-01T12:00:00Z")
		return nil
	}
	if now := time.Now(); newest.After(now) {
		newest = now // by its node's clock
	}
	job, err := r.Book.Client.Checkpoint(ctx, v.held.Job.ID, newest)
	switch {
	case contract.Away(err):
		remembered.saved = ""
		return err
	case err != nil:
		r.event(by, corev1.EventTypeWarning, "NotCheckpointed", "Railweave does not count what it saved: "+err.Error())
	default:
		r.Book.Reported(job)
	}
	return nil
}

// saved is the latest time of a saved state that a pod tells of, and that pod; where none is a time, the zero time and a pod that has what is none.
func (v *view) saved() (newest time.Time, by *corev1.Pod) {
	for i, pod := range v.pods {
		text := pod.Annotations[names.Checkpointed]
		if text == "" || v.situation.Members[i].Leaving || v.situation.Members[i].Gated {
			continue
		}
		if at, err := time.Parse(time.RFC3339, text); err == nil && at.After(newest) {
			newest, by = at, pod
		} else if by == nil {
			by = pod
		}
	}
	return newest, by
}
