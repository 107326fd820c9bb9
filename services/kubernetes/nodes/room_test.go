package nodes

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func asking(node string, gpus, cpu int64) *corev1.Pod {
	list := corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(gpus, resource.DecimalSI), corev1.ResourceCPU: *resource.NewQuantity(cpu, resource.DecimalSI)}
	return &corev1.Pod{Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list, Limits: list}}}}}
}

// Where GPUs are free, a node has the room that the scheduler, which adds one pod after the other, finds; and of the numbers of pods that may
// share a node the largest is taken that enough nodes have room for.
func TestRoomIsWhatOnePodAfterTheOtherFinds(t *testing.T) {
	const fabric = 8
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 3))
		gpus, cpu, pods := int64(1+random.IntN(4)), int64(random.IntN(60)), 1+random.IntN(6)
		var nodes []*corev1.Node
		var others []corev1.Pod
		type left struct{ gpus, cpu int64 }
		free := map[string]left{}
		smaller := map[string]bool{}
		for i := range 1 + random.IntN(6) {
			name := fmt.Sprint("n", i)
			offered := left{fabric, 64}
			if random.IntN(3) == 0 {
				offered = left{int64(random.IntN(8)), int64(1 + random.IntN(128))}
			}
			smaller[name] = offered.gpus < fabric
			nodes = append(nodes, &corev1.Node{Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				"nvidia.com/gpu": *resource.NewQuantity(offered.gpus, resource.DecimalSI), corev1.ResourceCPU: *resource.NewQuantity(offered.cpu, resource.DecimalSI)}}})
			nodes[i].Name = name
			for range random.IntN(3) {
				other := left{int64(random.IntN(4)), int64(random.IntN(40))}
				if offered.gpus >= other.gpus && offered.cpu >= other.cpu {
					offered = left{offered.gpus - other.gpus, offered.cpu - other.cpu}
					others = append(others, *asking(name, other.gpus, other.cpu))
				}
			}
			free[name] = offered
		}
		rooms := roomsFor(asking("", gpus, cpu), int(gpus), nodes, usageOf(others, "nvidia.com/gpu"), "nvidia.com/gpu", func(string) int { return fabric })
		for _, one := range rooms {
			here, count := free[one.node], 0
			for here.gpus >= gpus && here.cpu >= cpu {
				here, count = left{here.gpus - gpus, here.cpu - cpu}, count+1
			}
			usesGpus := free[one.node].gpus < gpus
			if !usesGpus || smaller[one.node] {
				// Where GPUs are free Railweave knows how many; the room is by what it does not know.
				byCpu := one.pods
				if !smaller[one.node] {
					byCpu = min(one.pods, int(free[one.node].gpus/gpus))
				}
				if byCpu != count {
					t.Fatalf("seed %d: %s has room for %d, not %d", seed, one.node, count, one.pods)
				}
			}
		}
		count, _ := together(rooms, pods, 0)
		for _, one := range rooms {
			here, found := free[one.node], 0
			for here.gpus >= gpus && here.cpu >= cpu {
				here, found = left{here.gpus - gpus, here.cpu - cpu}, found+1
			}
			if one.now != found {
				t.Fatalf("seed %d: %s holds %d now, not %d", seed, one.node, found, one.now)
			}
		}
		now := func(one room) int { return one.now }
		if pods%count != 0 {
			t.Fatalf("seed %d: %d of %d pods on each node", seed, count, pods)
		}
		for larger := count + 1; larger <= pods; larger++ {
			if pods%larger == 0 && nodesWith(rooms, now, larger)*larger >= pods {
				t.Fatalf("seed %d: %d on each node would do, not %d", seed, larger, count)
			}
		}
	}
}
