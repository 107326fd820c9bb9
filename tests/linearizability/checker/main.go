// Says whether recorded histories are linearizable, with Porcupine.
//
//	checker HISTORY [PICTURE.html]    exit code 0: all are, 1: one is not, 2: wrong use, 3: not found out in time
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

const perObject = 30 * time.Second

func check(history []porcupine.Operation, object string) (porcupine.CheckResult, porcupine.LinearizationInfo, porcupine.Model, error) {
	described, err := modelOf(object)
	if err != nil {
		return porcupine.Illegal, porcupine.LinearizationInfo{}, porcupine.Model{}, err
	}
	model := described.ToModel()
	result, information := porcupine.CheckOperationsVerbose(model, history, perObject)
	return result, information, model, nil
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "checker HISTORY [PICTURE.html]")
		os.Exit(2)
	}
	file, err := os.Open(os.Args[1])
	if err == nil {
		defer file.Close()
	}
	histories, order, err := readHistory(file)
	if err != nil || len(order) == 0 {
		fmt.Fprintln(os.Stderr, "no history:", err)
		os.Exit(2)
	}
	kinds, unknown, late := map[string][2]int{}, 0, 0
	for _, object := range order {
		history := histories[object]
		result, information, model, err := check(history, object)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		kind, _, _ := strings.Cut(object, "/")
		kinds[kind] = [2]int{kinds[kind][0] + 1, kinds[kind][1] + len(history)}
		for _, one := range history {
			if !one.Output.(operation).known() {
				unknown++
			}
		}
		if result == porcupine.Unknown {
			fmt.Printf("%s: not found out within %s (%d operations)\n", object, perObject, len(history))
			late++
		}
		if result == porcupine.Illegal {
			tell(object, history, information)
			if len(os.Args) > 2 {
				if err := porcupine.VisualizePath(model, information, os.Args[2]); err == nil {
					fmt.Println("picture:", os.Args[2])
				}
			}
			os.Exit(1)
		}
	}
	var names []string
	for kind := range kinds {
		names = append(names, kind)
	}
	sort.Strings(names)
	for _, kind := range names {
		fmt.Printf("%-8s %5d objects, %6d operations\n", kind, kinds[kind][0], kinds[kind][1])
	}
	fmt.Printf("linearizable; %d operations without an answer\n", unknown)
	if late > 0 {
		os.Exit(3)
	}
}

// The longest order that is in accord with the model, and what then could not follow.
func tell(object string, history []porcupine.Operation, information porcupine.LinearizationInfo) {
	var longest []porcupine.Operation
	for _, partition := range information.PartialLinearizationsOperations() {
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	fmt.Printf("%s: NOT LINEARIZABLE, %d operations; at most %d can be put in order, of which the last are\n", object, len(history), len(longest))
	placed := map[operationKey]bool{}
	for at, one := range longest {
		placed[keyOf(one)] = true
		if at >= len(longest)-12 {
			line(one, history[0].Call)
		}
	}
	fmt.Println("and no order goes on with")
	sort.Slice(history, func(a, b int) bool { return history[a].Call < history[b].Call })
	rest := 0
	for _, one := range history {
		if rest < 20 && !placed[keyOf(one)] {
			line(one, history[0].Call)
			rest++
		}
	}
}

type operationKey struct {
	client int
	call   int64
}

func keyOf(one porcupine.Operation) operationKey { return operationKey{one.ClientId, one.Call} }

func line(one porcupine.Operation, start int64) {
	o := one.Output.(operation)
	fmt.Printf("  client %2d  %12d to %12d us  %s\n", one.ClientId, (o.Call-start)/1000, (o.Return-start)/1000, o)
}
