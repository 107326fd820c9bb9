package placement

import (
	"fmt"
	"slices"
	"strings"
)

// MaxHostfileBytes bounds the list of hosts: all annotations of a pod together have 256 KiB.
const MaxHostfileBytes = 128 << 10

// NoOrder is that of a seat that has none yet.
const NoOrder = -1

// Seat is a pod where the scheduler has placed it.
type Seat struct {
	Pod   string
	Host  string // what others of the group reach it by
	Node  string
	Order int // of the pod, from 0; pods of lower order have lower ranks
}

// SetOrder gives each seat the order of the ranks of its node, pods of one node in the order of the seats. The error says where pods
// are not as the ranks are; then no seat is changed.
func SetOrder(seats []Seat, chunks []Chunk) error {
	free := map[string][]int{}
	for order, chunk := range chunks {
		free[chunk.Node] = append(free[chunk.Node], order)
	}
	orders := make([]int, len(seats))
	for i, seat := range seats {
		if len(free[seat.Node]) == 0 {
			return fmt.Errorf("more of its pods are on node %s than the ranks in Railweave's order", seat.Node)
		}
		orders[i], free[seat.Node] = free[seat.Node][0], free[seat.Node][1:]
	}
	if len(seats) != len(chunks) {
		return fmt.Errorf("it has %d pods, and the ranks in Railweave's order are for %d", len(seats), len(chunks))
	}
	for i := range seats {
		seats[i].Order = orders[i]
	}
	return nil
}

// KeepOrder gives seats without an order, or with one that is another's too, those that are free: of pods that were made again in the
// place of others. Every seat has an order of its own then; it is as good as before where one node lost pods.
func KeepOrder(seats []Seat) {
	taken := make([]bool, len(seats))
	var loose []int
	for i, seat := range seats {
		if seat.Order < 0 || seat.Order >= len(seats) || taken[seat.Order] {
			loose = append(loose, i)
		} else {
			taken[seat.Order] = true
		}
	}
	next := 0
	for _, i := range loose {
		for taken[next] {
			next++
		}
		seats[i].Order, taken[next] = next, true
	}
}

// Hostfile is the hosts in their order, as MPI reads them; "" where it would be too long for an annotation.
func Hostfile(seats []Seat, gpus int) string {
	ordered := slices.Clone(seats)
	slices.SortFunc(ordered, func(a, b Seat) int { return a.Order - b.Order })
	var text strings.Builder
	for _, seat := range ordered {
		fmt.Fprintf(&text, "%s slots=%d\n", seat.Host, gpus)
	}
	if text.Len() > MaxHostfileBytes {
		return ""
	}
	return text.String()
}
