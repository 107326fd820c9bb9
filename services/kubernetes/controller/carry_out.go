package controller

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/placement"
	"railweave.dev/kubernetes/plan"
)

const (
	atOnce     = 16 // requests to the API server for one group at a time
	retryAfter = 30 * time.Second
)

// each calls do() for every index, several at once, and returns the first error.
func each(indices []int, do func(int) error) error {
	if len(indices) == 1 {
		return do(indices[0])
	}
	var (
		wait  sync.WaitGroup
		mutex sync.Mutex
		first error
		slots = make(chan struct{}, atOnce)
	)
	for _, index := range indices {
		slots <- struct{}{}
		wait.Add(1)
		go func() {
			defer wait.Done()
			if err := do(index); err != nil {
				mutex.Lock()
				if first == nil {
					first = err
				}
				mutex.Unlock()
			}
			<-slots
		}()
	}
	wait.Wait()
	return first
}

func (r *Reconciler) carryOut(ctx context.Context, key group.Key, v *view, decided *plan.Plan, remembered *memory) error {
	if err := r.answerMove(ctx, v, decided, remembered.name); err != nil {
		return err
	}
	if err := r.repair(ctx, v, decided, remembered); err != nil {
		return err
	}
	if err := r.remove(ctx, v, decided); err != nil {
		return err
	}
	if decided.Suspend != "" || decided.Resume {
		if err := r.suspend(ctx, key, v, decided.Suspend); err != nil {
			return err
		}
	}
	if decided.Release != "" {
		if err := r.release(ctx, key, v, decided, remembered); err != nil || len(decided.Leave)+len(decided.Lift) == 0 {
			return err
		}
	}
	if err := r.apart(ctx, v, decided); err != nil {
		return err
	}
	if decided.Report != "" {
		if err := r.report(ctx, v, decided, remembered.name); err != nil {
			return err
		}
	}
	if err := r.tellSaved(ctx, v, remembered); err != nil {
		return err
	}
	if err := r.resite(ctx, v, remembered); err != nil {
		return err
	}
	if len(decided.Ungate) > 0 && v.demand.Imex {
		if why, err := r.computeDomain(ctx, key, v); err != nil {
			return err
		} else if why != "" {
			decided.Ungate, decided.Waits = nil, why
			v.after(retryAfter)
		}
	}
	for _, begin := range []*[]int{&decided.Ungate, &decided.Lift} {
		if len(*begin) == 0 {
			continue
		}
		if why, err := r.gang(ctx, key, v, *begin); err != nil {
			return err
		} else if why != "" {
			*begin, decided.Waits = nil, why
			v.after(2 * time.Second)
		}
	}
	if err := each(decided.Ungate, func(i int) error { return r.ungate(ctx, v, i) }); err != nil {
		return err
	}
	if len(decided.Ungate) > 0 {
		r.tellPlaced(v, decided.Ungate, remembered)
		r.countPlaced(v, key.Kind, decided.Ungate)
	}
	if err := each(decided.Mark, func(i int) error {
		return r.annotate(ctx, v.pods[i], map[string]string{names.Job: v.held.Job.ID})
	}); err != nil {
		return err
	}
	if err := r.liftAll(ctx, v, decided); err != nil {
		return err
	}
	if err := r.keepOrder(ctx, key, v); err != nil {
		return err
	}
	if decided.Submit || decided.Adopt {
		if err := r.ask(ctx, key, v, decided, remembered); err != nil {
			return err
		}
	}
	return r.tellWaits(ctx, key, v, decided.Waits, remembered)
}

// apart takes pods out of groups that they are not placed with.
func (r *Reconciler) apart(ctx context.Context, v *view, decided *plan.Plan) error {
	if err := each(decided.Leave, func(i int) error { return r.leave(ctx, v.pods[i], decided.Left) }); err != nil {
		return err
	}
	return each(decided.Alone, func(i int) error { return r.annotate(ctx, v.pods[i], map[string]string{names.Alone: "true"}) })
}

// liftAll leaves a group to the scheduler for once: as Railweave is away, or the scheduler does more for it.
func (r *Reconciler) liftAll(ctx context.Context, v *view, decided *plan.Plan) error {
	if len(decided.Lift) == 0 {
		return nil
	}
	why, label := decided.Lifts, "preempts"
	if strings.HasPrefix(why, uneven) {
		label = "uneven"
	}
	if why == plan.Observing {
		label = "observed"
	}
	if why == "" {
		why, label = "Railweave is away for longer than the grace period", "away"
	}
	text := "the scheduler decides where the group's pods run: " + why
	if err := each(decided.Lift, func(i int) error { return r.lift(ctx, v.pods[i], text) }); err != nil {
		return err
	}
	r.counts.left.WithLabelValues(label).Add(float64(len(decided.Lift)))
	r.event(v.pods[decided.Lift[0]], corev1.EventTypeWarning, "GateLifted", text)
	return nil
}

func (r *Reconciler) repair(ctx context.Context, v *view, decided *plan.Plan, remembered *memory) error {
	if len(decided.Repair) == 0 {
		return nil
	}
	// Before Railweave does it by itself, with a reason that would not be known for one of ours.
	why := func(node string) string { return cmp.Or(v.situation.Lost[node], v.situation.Closed[node]) }
	if err := r.Site.EnsureDrained(ctx, decided.Repair, why); err != nil {
		return err
	}
	job, err := r.Book.Client.Repair(ctx, v.held.Job.ID, &contract.RepairRequest{Nodes: decided.Repair})
	if err == nil {
		r.Log.Info("ranks were moved off nodes that are lost or closed", "job", job.ID, "nodes", decided.Repair)
		r.Book.Put(job)
		return nil
	}
	if contract.Away(err) {
		return err
	}
	r.Log.Info("ranks cannot be moved off nodes that are lost or closed", "job", v.held.Job.ID, "nodes", decided.Repair, "reason", err.Error())
	if decided.Moves {
		remembered.noSpare, v.situation.NoSpare = time.Now(), true
	} else {
		remembered.cannotRepair, v.situation.CannotRepair = v.held.Job.ID, true
	}
	*decided = plan.Make(&v.situation)
	return nil
}

func (r *Reconciler) remove(ctx context.Context, v *view, decided *plan.Plan) error {
	var members []int
	why := map[int]string{}
	for _, removal := range decided.Delete {
		members = append(members, removal.Member)
		why[removal.Member] = removal.Why
	}
	return each(members, func(i int) error {
		pod := v.pods[i]
		r.event(pod, corev1.EventTypeWarning, "Replaced", "deleted, so that its owner makes one that is placed again: "+why[i])
		r.Log.Info("pod deleted, so that its owner makes another one", "pod", pod.Namespace+"/"+pod.Name, "reason", why[i])
		// Owners may be told not to count such failures (podFailurePolicy of a Job).
		if err := r.setCondition(ctx, pod, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PlacedAgainByRailweave",
			Message: why[i]}); err != nil {
			return err
		}
		err := r.Client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
		return client.IgnoreNotFound(err)
	})
}

// suspend has all pods of a Job deleted; without a reason it is resumed, and has new ones.
func (r *Reconciler) suspend(ctx context.Context, key group.Key, v *view, why string) error {
	job := &batchv1.Job{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, job); err != nil {
		return client.IgnoreNotFound(err)
	}
	if string(job.UID) != key.UID || job.DeletionTimestamp != nil || (job.Annotations[names.Suspended] != "") == (why != "") {
		return nil
	}
	changed := job.DeepCopy()
	suspended := why != ""
	changed.Spec.Suspend = &suspended
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	if suspended {
		changed.Annotations[names.Suspended] = why
	} else {
		delete(changed.Annotations, names.Suspended)
	}
	if err := r.Client.Patch(ctx, changed, client.MergeFromWithOptions(job, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	r.Log.Info("Job suspended or resumed, so that all of its pods are made again", "group", key.String(), "suspended", suspended, "reason", why)
	if suspended {
		r.Recorder.Eventf(job, nil, corev1.EventTypeWarning, "PlacedAgain", "Placing", "suspended until its pods are gone: %s", clipped(why))
		for i, member := range v.situation.Members {
			if !member.Gated && !member.Ended && !member.Leaving {
				r.event(v.pods[i], corev1.EventTypeWarning, "Replaced", "its Job is suspended, so that all of its pods are placed again: "+why)
			}
		}
	}
	return nil
}

func (r *Reconciler) release(ctx context.Context, key group.Key, v *view, decided *plan.Plan, remembered *memory) error {
	for _, member := range v.situation.Members {
		// Where a pod could not begin, its group does not go again at once.
		if member.Stuck != "" && member.Pinned != "" {
			remembered.avoid(member.Pinned, member.Stuck, r.Options.GpuResource)
		}
	}
	freed := true
	for _, member := range v.situation.Members {
		freed = freed && (member.Gated || member.Ended)
	}
	var err error
	if v.held.Job.State == "queued" {
		err = r.Book.Client.Cancel(ctx, v.held.Job.ID, decided.Release)
	} else {
		err = r.Book.Client.Complete(ctx, v.held.Job.ID, decided.Release, freed)
	}
	if err != nil {
		return err
	}
	r.Log.Info("job ended", "group", key.String(), "job", v.held.Job.ID, "reason", decided.Release)
	if v.situation.Placement.Phase == "" || freed || v.held.Job.State == "queued" {
		r.Book.Forget(remembered.name)
	} else {
		r.Book.Stale(remembered.name)
	}
	return nil
}

func (r *Reconciler) report(ctx context.Context, v *view, decided *plan.Plan, name string) error {
	job, err := r.Book.Client.Report(ctx, v.held.Job.ID, decided.Report, decided.Freed...)
	if err != nil {
		if !contract.Away(err) {
			r.Book.Stale(name) // it has ended, or gone back to the queue
			r.Book.Changed(name)
			return nil
		}
		return err
	}
	if job.State != "placed" && job.State != "queued" {
		r.Book.Forget(name)
	} else {
		r.Book.Reported(job)
	}
	r.Book.Changed(name)
	return nil
}

// ask makes the group's job: one that is placed, or one that says where its pods are.
func (r *Reconciler) ask(ctx context.Context, key group.Key, v *view, decided *plan.Plan, remembered *memory) error {
	if v.refused != "" {
		decided.Waits = v.refused
		return nil
	}
	var uids, nodes []string
	var first *corev1.Pod
	for i, member := range v.situation.Members {
		if member.Leaving || member.Ended {
			continue
		}
		uids = append(uids, string(v.pods[i].UID))
		if member.Node != "" {
			nodes = append(nodes, member.Node)
		}
		if first == nil || member.Position == 0 {
			first = v.pods[i]
		}
	}
	sort.Strings(nodes)
	isUneven := false
	var body *contract.JobRequest
	if decided.Adopt {
		body = r.adoption(key, v, nodes)
		body.Tolerations = placement.Tolerations(first, nil)
		if err := r.advise(ctx, key, v, first, nodes, body); err != nil {
			return err
		}
	} else {
		if !r.adoptedFirst() {
			v.after(200 * time.Millisecond)
			return nil
		}
		site, err := r.Site.Of(ctx, first, &v.demand, v.situation.Size, remembered.avoided())
		if err != nil {
			return err
		}
		remembered.inUse, isUneven = site.InUse, site.Uneven
		if body, err = placement.Request(r.Options.Cluster, key, v.demand, v.situation.Size, site); err != nil {
			decided.Waits = err.Error()
			return nil
		}
	}
	err := r.Book.Submit(ctx, body, uids)
	if contract.Away(err) {
		return err
	}
	if err != nil {
		remembered.refused, remembered.retry = refusal(err), time.Now().Add(retryAfter)
		v.after(retryAfter)
		clear(remembered.failed)
		if problem, is := err.(*contract.Problem); is && !decided.Adopt && problem.Code == "jobs.neverFits" && isUneven {
			_, decided.Lift = v.waiting()
			decided.Lifts = uneven + problem.Detail
			return r.liftAll(ctx, v, decided)
		}
		if decided.Adopt {
			r.event(first, corev1.EventTypeWarning, "NotAdopted", "Railweave cannot hold the GPUs of pods that run already: "+remembered.refused)
			return nil
		}
		decided.Waits = remembered.refused
		return nil
	}
	// Only now: this is the advice that the job has.
	if decided.Adopt && body.External != nil && body.External.Advice != "" {
		r.event(first, corev1.EventTypeNormal, "Observed", body.External.Advice)
	}
	r.Book.Changed(remembered.name)
	return nil
}

const looksAgain = 5 * time.Second

// resite tells a job that waits of nodes that came and went since it was asked for.
func (r *Reconciler) resite(ctx context.Context, v *view, remembered *memory) error {
	first, gated := v.waiting()
	nodes, avoided := r.nodesChanged.Load(), remembered.avoided()
	same := remembered.sited == nodes && remembered.avoiding == len(avoided) && !(remembered.inUse && time.Since(remembered.looked) >= looksAgain)
	if remembered.inUse {
		v.after(looksAgain)
	}
	if v.held == nil || v.held.Job.State != "queued" || len(gated) == 0 || same || len(v.held.Job.Spec.Nodes) > 0 {
		return nil
	}
	site, err := r.Site.Of(ctx, v.pods[first], &v.demand, v.situation.Size, avoided)
	if err != nil {
		return err
	}
	if !slices.Equal(site.Unusable, v.held.Job.Spec.ExcludeNodes) && len(site.Unusable) <= placement.MaxNodes {
		job, err := r.Book.Client.Change(ctx, v.held.Job.ID, &contract.JobChange{ExcludeNodes: site.Unusable, Reason: "nodes of the cluster have changed"})
		if contract.Away(err) {
			return err
		}
		if err != nil {
			r.Log.Info("job not told of other nodes", "job", v.held.Job.ID, "reason", err.Error())
		} else {
			r.Book.Put(job)
			r.Book.Changed(remembered.name)
		}
	}
	remembered.sited, remembered.avoiding = nodes, len(avoided)
	remembered.inUse, remembered.looked = site.InUse, time.Now()
	return nil
}

// adoptedFirst says that what runs is known to Railweave, which may have come back without its jobs. What cannot be adopted is not
// waited for for long: its nodes are busy, and the scheduler knows that.
func (r *Reconciler) adoptedFirst() bool {
	const adopting = 5 * time.Second
	if time.Since(r.Book.Reached()) > adopting {
		return true
	}
	for _, key := range r.keysWith(func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && !group.Finished(pod) && group.Gpus(pod, r.Options.GpuResource) > 0 && (r.Options.AdoptOthers || group.Managed(pod))
	}) {
		if !r.Book.Has(key.JobName(r.Options.Cluster)) {
			return false
		}
	}
	return true
}

// advise asks where pods that the scheduler placed would have been placed, where Railweave only observes, and
// tells them the order of their ranks at the step order.
func (r *Reconciler) advise(ctx context.Context, key group.Key, v *view, first *corev1.Pod, nodes []string, adopted *contract.JobRequest) error {
	if !r.Options.Steps.Observes(key.Namespace) {
		return nil
	}
	adopted.External.Step = string(r.Options.Steps.Of(key.Namespace))
	site, err := r.Site.Of(ctx, first, &v.demand, v.situation.Size, nil)
	if err != nil {
		return err
	}
	body, err := placement.Request(r.Options.Cluster, key, v.demand, v.situation.Size, site)
	if err != nil {
		return nil // what the pods say makes no sense: there is no advice
	}
	at := slices.Compact(slices.Sorted(slices.Values(nodes)))
	advice, err := r.Book.Client.Advise(ctx, body, at)
	if err == nil {
		adopted.External.Advice, adopted.External.GainPermille = advice.Advice, advice.GainPermille
		return r.orderAt(ctx, key, v, first, body, at)
	}
	if contract.Away(err) {
		return err
	}
	return nil
}

// adoption is exact where the pods say which GPUs they were given; elsewhere only their nodes are known.
func (r *Reconciler) adoption(key group.Key, v *view, nodes []string) *contract.JobRequest {
	var told []placement.Told
	for i, member := range v.situation.Members {
		if !member.Leaving && !member.Ended {
			notes := v.pods[i].Annotations
			node := member.Node
			if node == "" {
				node = member.Pinned
			}
			told = append(told, placement.Told{Node: node, Ranks: placement.Numbers(notes[names.Ranks]), Gpus: placement.Numbers(notes[names.Gpus])})
		}
	}
	if places, err := placement.Places(told); err == nil && len(told) == v.situation.Size {
		if body, err := placement.Readoption(r.Options.Cluster, key, v.demand, v.situation.Size, places); err == nil {
			return body
		}
	}
	return placement.Adoption(r.Options.Cluster, key, v.demand, nodes)
}

// refusal is the reason with what would help.
func refusal(err error) string {
	text := err.Error()
	if problem, ok := err.(*contract.Problem); ok {
		text += problem.Explanation.Help()
	}
	return text
}
