package nodes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
)

// How pods share nodes is as if nodes with a taint of Railweave's that they do not tolerate were not there.
func TestNodesThatRepelHaveNoRoom(t *testing.T) {
	differed := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 5))
		all := fake.NewClientBuilder()
		without := fake.NewClientBuilder()
		whole := &Syncer{GpuResource: names.DefaultGpuResource, Drains: true, known: map[string]contract.NodeLine{}}
		rest := &Syncer{GpuResource: names.DefaultGpuResource, Drains: true, known: map[string]contract.NodeLine{}}
		open := 0
		for i := range 2 + random.IntN(6) {
			name := fmt.Sprint("n", i)
			offered := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8"), "cpu": *resource.NewQuantity(int64(30+random.IntN(100)), resource.DecimalSI)}
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: offered}}
			line := contract.NodeLine{ID: name, Gpus: 8, Labels: map[string]string{"color": "red"}}
			taint := random.IntN(3)
			if taint == 1 {
				line.Labels["taint/dedicated"] = "inference" // tolerated
			}
			whole.known[name] = line
			if taint == 2 {
				line.Labels["taint/dedicated"] = "research"
			} else {
				rest.known[name] = line
				without = without.WithObjects(node.DeepCopy())
				open++
			}
			all = all.WithObjects(node)
		}
		if open == 0 {
			continue
		}
		whole.Client, rest.Client = all.Build(), without.Build()
		pod := asking("", int64(1+random.IntN(4)), int64(10+random.IntN(50)))
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Value: "inference"}}
		demand := group.Demand{Gpus: group.Gpus(pod, names.DefaultGpuResource)}
		size := 1 + random.IntN(8)
		got, err := whole.Of(context.Background(), pod, &demand, size, nil)
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := rest.Of(context.Background(), pod, &demand, size, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Uneven != wanted.Uneven || len(wanted.Usable) > 0 && got.GpusPerNode != wanted.GpusPerNode {
			t.Fatalf("seed %d: %d GPUs of a node, uneven %v; without nodes that repel %d, %v", seed, got.GpusPerNode, got.Uneven, wanted.GpusPerNode, wanted.Uneven)
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists})
		if tolerant, err := whole.Of(context.Background(), pod, &demand, size, nil); err != nil {
			t.Fatal(err)
		} else if tolerant.GpusPerNode != got.GpusPerNode || tolerant.Uneven != got.Uneven {
			differed++
		}
	}
	if differed < 30 {
		t.Fatalf("taints made a difference %d times only", differed)
	}
}
