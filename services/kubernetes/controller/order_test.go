package controller

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/placement"
	"railweave.dev/kubernetes/plan"
)

func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ordering is an Indexed Job whose pods the scheduler has placed on nodes of two leaves in turn, and what railweaved answers for them.
type ordering struct {
	r        *Reconciler
	recorder *events.FakeRecorder
	key      group.Key
	answer   contract.PlacementAnswer
}

func newOrdering(t *testing.T, step Step) *ordering {
	o := &ordering{recorder: events.NewFakeRecorder(16), key: group.Key{Namespace: "default", Kind: group.IndexedJob, Name: "train"}}
	var pods corev1.PodList
	read(t, "testdata/pods.json", &pods)
	read(t, "testdata/ranks.json", &o.answer)
	o.r = &Reconciler{Client: fake.NewClientBuilder().WithLists(&pods).Build(), Recorder: o.recorder, Options: Options{Steps: Steps{Cluster: step}}}
	return o
}

func (o *ordering) view(t *testing.T) *view {
	t.Helper()
	var pods corev1.PodList
	if err := o.r.Client.List(context.Background(), &pods); err != nil {
		t.Fatal(err)
	}
	var present []*corev1.Pod
	for i := range pods.Items {
		present = append(present, &pods.Items[i])
	}
	v := &view{demand: group.Demand{Gpus: 8}, held: &placement.Held{Job: contract.Job{}}}
	v.held.Job.Spec.External = &contract.External{ID: placement.AdoptedMark}
	v.situation.Size = 4
	for at, pod := range group.Positions(present, o.key, group.Layout{Size: 4}) {
		v.situation.Members = append(v.situation.Members, plan.Member{Name: pod.Name, Position: at, Node: pod.Spec.NodeName, Running: true})
		v.pods = append(v.pods, pod)
	}
	return v
}

// notes are an annotation of each pod, by the index of the Job.
func (o *ordering) notes(t *testing.T, name string) []string {
	notes := make([]string, 4)
	for _, pod := range o.view(t).pods {
		index, _ := strconv.Atoi(pod.Labels["batch.kubernetes.io/job-completion-index"])
		notes[index] = pod.Annotations[name]
	}
	return notes
}

func (o *ordering) said() string {
	select {
	case event := <-o.recorder.Events:
		return event
	default:
		return ""
	}
}

func TestPodsThatTheSchedulerPlacedAreToldTheirOrder(t *testing.T) {
	o := newOrdering(t, Order)
	v := o.view(t)
	if err := o.r.order(context.Background(), o.key, v, v.pods[0], &o.answer); err != nil {
		t.Fatal(err)
	}
	// On node-01, node-05, node-02, node-06; the first two ranks' nodes are of one leaf.
	if orders := strings.Join(o.notes(t, names.Order), " "); orders != "0 2 1 3" {
		t.Errorf("orders are %s", orders)
	}
	if first := strings.Join(o.notes(t, names.OrderFirst), " "); first != "train-0.train train-0.train train-0.train train-0.train" {
		t.Errorf("the first is %s", first)
	}
	hostfiles := o.notes(t, names.Hostfile)
	if hostfiles[0] != "train-0.train slots=8\ntrain-2.train slots=8\ntrain-1.train slots=8\ntrain-3.train slots=8\n" || hostfiles[1] != "" {
		t.Errorf("hostfiles are %q", hostfiles)
	}
	if said := o.said(); !strings.Contains(said, "Ordered") {
		t.Errorf("an event says %q", said)
	}

	// A pod that its Job makes again has the order of the one that is gone; the others keep theirs.
	gone := o.view(t)
	for _, pod := range gone.pods {
		if pod.Labels["batch.kubernetes.io/job-completion-index"] == "2" {
			if err := o.r.Client.Delete(context.Background(), pod); err != nil {
				t.Fatal(err)
			}
			again := pod.DeepCopy()
			again.Name, again.ResourceVersion, again.UID = "train-2-again", "", "other"
			again.Annotations = map[string]string{"batch.kubernetes.io/job-completion-index": "2"}
			if err := o.r.Client.Create(context.Background(), again); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := o.r.keepOrder(context.Background(), o.key, o.view(t)); err != nil {
		t.Fatal(err)
	}
	if orders := strings.Join(o.notes(t, names.Order), " "); orders != "0 2 1 3" {
		t.Errorf("orders are %s after a pod was made again", orders)
	}
}

func TestNothingIsOrderedAtOtherSteps(t *testing.T) {
	for _, step := range []Step{Observe, Place} {
		o := newOrdering(t, step)
		v := o.view(t)
		if err := o.r.order(context.Background(), o.key, v, v.pods[0], &o.answer); err != nil {
			t.Fatal(err)
		}
		if err := o.r.keepOrder(context.Background(), o.key, v); err != nil {
			t.Fatal(err)
		}
		if orders := strings.Join(o.notes(t, names.Order), ""); orders != "" {
			t.Errorf("%s: orders are %s", step, orders)
		}
	}
}

func TestPodsUnlikeTheRanksKeepTheirOwnOrder(t *testing.T) {
	o := newOrdering(t, Order)
	var pod corev1.Pod
	if err := o.r.Client.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "train-3-c8w6v"}, &pod); err != nil {
		t.Fatal(err)
	}
	moved := pod.DeepCopy()
	moved.Spec.NodeName = "node-05"
	if err := o.r.Client.Update(context.Background(), moved); err != nil {
		t.Fatal(err)
	}
	v := o.view(t)
	if err := o.r.order(context.Background(), o.key, v, v.pods[0], &o.answer); err != nil {
		t.Fatal(err)
	}
	if orders := strings.Join(o.notes(t, names.Order), ""); orders != "" {
		t.Errorf("orders are %s", orders)
	}
	if said := o.said(); !strings.Contains(said, "NotOrdered") || !strings.Contains(said, "node-05") {
		t.Errorf("an event says %q", said)
	}
}
