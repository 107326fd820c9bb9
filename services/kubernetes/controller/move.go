package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/plan"
)

// answerMove tells Railweave whether a group that runs moves to the other place that it is offered. Where it does its pods go as those of a group
// that makes way, and what its owner makes in their place is the same job's.
func (r *Reconciler) answerMove(ctx context.Context, v *view, decided *plan.Plan, name string) error {
	if decided.Move == "" {
		return nil
	}
	move := v.held.Job.Launcher.Move
	job, err := r.Book.Client.AnswerMove(ctx, v.held.Job.ID, decided.Move == plan.Accept)
	if contract.Away(err) {
		return err
	}
	if err != nil { // the offer is over
		r.Log.Info("the answer to a move came too late", "job", v.held.Job.ID, "answer", string(decided.Move), "reason", err.Error())
		r.Book.Stale(name)
		r.Book.Changed(name)
		return nil
	}
	r.Log.Info("answered to a move", "job", job.ID, "answer", string(decided.Move), "reason", move.Reason)
	r.Book.Reported(job)
	r.Book.Changed(name)
	first := 0
	for i, member := range v.situation.Members {
		if member.Position == 0 {
			first = i
		}
	}
	if decided.Move == plan.Accept {
		r.event(v.pods[first], corev1.EventTypeNormal, "MoveAccepted", "its group moves to other GPUs, which are held for it, "+move.Reason)
	} else {
		r.event(v.pods[first], corev1.EventTypeNormal, "MoveDeclined", "its group was offered other GPUs, and stays: not all of its pods run, are "+
			"made again by their owner, and are said to be checkpointable")
	}
	return nil
}
