package controller

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/placement"
)

// hostOf is what other pods of its group reach the pod by.
func hostOf(pod *corev1.Pod) string {
	switch {
	case pod.Spec.Hostname != "" && pod.Spec.Subdomain != "":
		return pod.Spec.Hostname + "." + pod.Spec.Subdomain
	case pod.Status.PodIP != "":
		return pod.Status.PodIP
	}
	return pod.Name
}

// seats are the group's pods that live, in the order that their owner gives them, and which member each is.
func (v *view) seats() (seats []placement.Seat, members []int) {
	for i, member := range v.situation.Members {
		if !member.Leaving && !member.Ended && member.Position >= 0 {
			members = append(members, i)
		}
	}
	slices.SortFunc(members, func(a, b int) int { return v.situation.Members[a].Position - v.situation.Members[b].Position })
	for _, i := range members {
		order, err := strconv.Atoi(v.pods[i].Annotations[names.Order])
		if err != nil {
			order = placement.NoOrder
		}
		seats = append(seats, placement.Seat{Pod: v.pods[i].Name, Host: hostOf(v.pods[i]), Node: v.situation.Members[i].Node, Order: order})
	}
	return seats, members
}

// orderAt asks for the ranks of a group on the nodes that it is on, and tells its pods their order.
func (r *Reconciler) orderAt(ctx context.Context, key group.Key, v *view, first *corev1.Pod, body *contract.JobRequest, nodes []string) error {
	if r.Options.Steps.Of(key.Namespace) != Order {
		return nil // nothing to ask for
	}
	here := *body
	here.ExcludeNodes, here.Nodes = nil, nodes
	ranks, err := r.Book.Client.QueryRanks(ctx, &here)
	if err == nil {
		return r.order(ctx, key, v, first, ranks)
	}
	if contract.Away(err) {
		return err
	}
	return nil
}

// order tells pods that the scheduler has placed the order of their ranks, from the answer for the nodes that they are on. It is told
// before the group is adopted: what was adopted has an order, also after a restart.
func (r *Reconciler) order(ctx context.Context, key group.Key, v *view, first *corev1.Pod, here *contract.PlacementAnswer) error {
	if r.Options.Steps.Of(key.Namespace) != Order || here.Outcome != "placed" {
		return nil
	}
	chunks, err := placement.Chunks(here.Ranks.Items, v.demand.Gpus)
	seats, members := v.seats()
	if err == nil {
		err = placement.SetOrder(seats, chunks)
	}
	if err != nil {
		r.event(first, corev1.EventTypeWarning, "NotOrdered", "its pods have the order that their owner gives them: "+err.Error())
		return nil
	}
	if err := r.tellOrder(ctx, v, seats, members); err != nil {
		return err
	}
	r.event(first, corev1.EventTypeNormal, "Ordered", fmt.Sprintf("its %d pods are in Railweave's order of ranks (annotation %s)", len(seats), names.Order))
	return nil
}

// keepOrder gives pods that were made again, where others were before, the orders that are free.
func (r *Reconciler) keepOrder(ctx context.Context, key group.Key, v *view) error {
	if r.Options.Steps.Of(key.Namespace) != Order || v.held == nil || !v.held.Adopted() {
		return nil
	}
	seats, members := v.seats()
	told := 0
	for i, seat := range seats {
		if seat.Node == "" {
			return nil // the scheduler has not placed it yet
		}
		if seat.Order != placement.NoOrder && v.pods[members[i]].Annotations[names.Order] != "" {
			told++
		}
	}
	if told == 0 || told == len(seats) || len(seats) != v.situation.Size {
		return nil // it has no order, or all of its pods know it
	}
	placement.KeepOrder(seats)
	return r.tellOrder(ctx, v, seats, members)
}

func (r *Reconciler) tellOrder(ctx context.Context, v *view, seats []placement.Seat, members []int) error {
	text := placement.Hostfile(seats, v.demand.Gpus)
	lead := 0
	for i, seat := range seats {
		if seat.Order == 0 {
			lead = i
		}
	}
	return each(indices(len(seats)), func(i int) error {
		values := map[string]string{names.Order: strconv.Itoa(seats[i].Order), names.OrderFirst: seats[lead].Host}
		// Those that may launch: the first by either order.
		if (i == 0 || i == lead) && text != "" {
			values[names.Hostfile] = text
		}
		return r.annotate(ctx, v.pods[members[i]], values)
	})
}

func indices(count int) []int {
	all := make([]int, count)
	for i := range all {
		all[i] = i
	}
	return all
}
