// Package placement is what Railweave says of groups: their jobs, and the ranks of each pod.
package placement

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"railweave.dev/kubernetes/contract"
)

// Chunk is the ranks of one pod.
type Chunk struct {
	Node    string
	Ranks   []int
	Gpus    []int
	Rails   []int
	Devices []string // device:port, as NCCL_IB_HCA has them
	Env     map[string]string
}

// Chunks deals a rank map out to pods with a given number of GPUs each: on each node its ranks in order, pods in the order of their first
// ranks. The error says which node has ranks that make no whole pod.
func Chunks(ranks []contract.Rank, gpus int) ([]Chunk, error) {
	byNode := map[string][]contract.Rank{}
	for _, rank := range ranks {
		byNode[rank.Node] = append(byNode[rank.Node], rank)
	}
	var chunks []Chunk
	for node, held := range byNode {
		if gpus < 1 || len(held)%gpus != 0 {
			return nil, fmt.Errorf("node %s has %d ranks, which are no whole pods of %d GPUs", node, len(held), gpus)
		}
		sort.Slice(held, func(a, b int) bool { return held[a].Rank < held[b].Rank })
		for first := 0; first < len(held); first += gpus {
			chunks = append(chunks, chunkOf(node, held[first:first+gpus]))
		}
	}
	sort.Slice(chunks, func(a, b int) bool { return chunks[a].Ranks[0] < chunks[b].Ranks[0] })
	return chunks, nil
}

func chunkOf(node string, ranks []contract.Rank) Chunk {
	chunk := Chunk{Node: node, Env: map[string]string{}}
	devices, rails := map[string]bool{}, map[int]bool{}
	named := true
	for _, rank := range ranks {
		chunk.Ranks = append(chunk.Ranks, rank.Rank)
		chunk.Gpus = append(chunk.Gpus, rank.Gpu)
		for name, value := range rank.Env {
			chunk.Env[name] = value
		}
		for _, nic := range rank.Nics {
			named = named && nic.Device != ""
			_, port, _ := strings.Cut(nic.Port, "/")
			if device := nic.Device + ":" + port; !devices[device] {
				devices[device] = true
				chunk.Devices = append(chunk.Devices, device)
			}
			if nic.Rail != nil && !rails[*nic.Rail] {
				rails[*nic.Rail] = true
				chunk.Rails = append(chunk.Rails, *nic.Rail)
			}
		}
	}
	if !named {
		chunk.Devices = nil
	}
	sort.Ints(chunk.Rails)
	return chunk
}

// Hca is the value of NCCL_IB_HCA, "" where the names of devices are not known.
func (c Chunk) Hca() string {
	if len(c.Devices) == 0 {
		return ""
	}
	return "=" + strings.Join(c.Devices, ",")
}

// Numbers reads what Runs has written; nil where it is none.
func Numbers(runs string) []int {
	var numbers []int
	for _, word := range strings.Split(runs, ",") {
		from, to, found := strings.Cut(word, "-")
		first, err := strconv.Atoi(from)
		last := first
		if err == nil && found {
			last, err = strconv.Atoi(to)
		}
		if err != nil || first < 0 || last < first || last-first > 1<<20 {
			return nil
		}
		for number := first; number <= last; number++ {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// Runs writes numbers as "0-7,16".
func Runs(numbers []int) string {
	var words []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		word := strconv.Itoa(numbers[i])
		if last > i {
			word += "-" + strconv.Itoa(numbers[last])
		}
		words = append(words, word)
		i = last + 1
	}
	return strings.Join(words, ",")
}
