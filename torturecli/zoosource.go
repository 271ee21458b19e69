package torturecli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/zoo"
	"github.com/zktorture/zktorture/zoo/published"
	"github.com/zktorture/zktorture/zoo/resolved"
)

// printSources prints the code of animals.
func (z *zooCmd) printSources(w io.Writer, animals []zoo.Animal) error {
	for i, a := range animals {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprint(w, wrap(fmt.Sprintf("%s: %s", a.ID, a.Title), columns), "\n",
			wrap("published: "+a.Source, columns), "\n")
		functions, err := resolved.Functions(a.Bugs)
		switch {
		case err != nil:
			return err
		case len(functions) == 0:
			fmt.Fprintln(w, "this animal is not a published recipe: its code is in zoo/zoo.go")
		case z.AsPublished:
			err = printFiles(w, functions)
		default:
			printFunctions(w, functions, "with "+a.Bugs.String())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printFunctions prints functions one after the other, each file's under its name.
func printFunctions(w io.Writer, functions []resolved.Function, with string) {
	file := ""
	for _, f := range functions {
		if f.File != file {
			file = f.File
			printDiffHead(w, file, with)
		} else {
			fmt.Fprintln(w)
		}
		printDiff(w, f.Published, f.Fixed)
	}
}

// printFiles prints the files of functions, with all of their bugs.
func printFiles(w io.Writer, functions []resolved.Function) error {
	var names []string
	for _, f := range functions {
		names = append(names, f.File)
	}
	for _, name := range slices.Compact(names) {
		printed, err := resolved.File(name, published.AllBugs())
		if err != nil {
			return err
		}
		fixed, err := resolved.File(name, published.NoBugs())
		if err != nil {
			return err
		}
		printDiffHead(w, name, "as published")
		printDiff(w, printed, fixed)
	}
	return nil
}

func printDiffHead(w io.Writer, file, with string) {
	fmt.Fprintf(w, "\n--- zoo/published/%s, %s\n+++ zoo/published/%[1]s, fixed\n\n", file, with)
}

// printDiff prints both texts line by line: lines of the first only (-), of the second only (+), or of both.
func printDiff(w io.Writer, first, second string) {
	a, b := slices.Collect(strings.Lines(first)), slices.Collect(strings.Lines(second))
	common := commonLines(a, b)
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			fmt.Fprint(w, " ", a[i])
			i, j = i+1, j+1
		case i < len(a) && common[i+1][j] >= common[i][min(j+1, len(b))]:
			fmt.Fprint(w, "-", a[i])
			i++
		default:
			fmt.Fprint(w, "+", b[j])
			j++
		}
	}
}

// commonLines gives for each i and j how many lines a[i:] and b[j:] have in common, in this order.
func commonLines(a, b []string) [][]int {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i, line := range slices.Backward(a) {
		for j, other := range slices.Backward(b) {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if line == other {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	return common
}
