package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NotReady is why the node is not ready and since when; "" where it is.
func NotReady(node *corev1.Node) (string, time.Time) {
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		if condition.Status == corev1.ConditionTrue {
			return "", time.Time{}
		}
		why := condition.Message
		if why == "" {
			why = "not ready"
		}
		return why, condition.LastTransitionTime.Time
	}
	return "", time.Time{}
}

// lost is why the node is taken for lost, and why pods like this one do not begin on it any more.
func (r *Reconciler) lost(ctx context.Context, name string, pod *corev1.Pod) (lost, closed string) {
	if name == "" {
		return "", ""
	}
	node := &corev1.Node{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, node); apierrors.IsNotFound(err) {
		return "it is not in the cluster any more", ""
	} else if err != nil {
		return "", ""
	}
	if why, since := NotReady(node); why != "" && time.Since(since) >= r.Options.NodeLost {
		return fmt.Sprintf("it is not ready since %s: %s", since.UTC().Format(time.RFC3339), why), ""
	}
	return "", closedTo(pod, node)
}

// untilLost is how long a node that is not ready has left.
func (r *Reconciler) untilLost(ctx context.Context, name string) time.Duration {
	node := &corev1.Node{}
	if r.Client.Get(ctx, client.ObjectKey{Name: name}, node) != nil {
		return 0
	}
	if why, since := NotReady(node); why != "" {
		return max(r.Options.NodeLost-time.Since(since), time.Second)
	}
	return 0
}
