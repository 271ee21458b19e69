// Package steps is the file of all steps of a search: who writes it, and who reads it.
package steps

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
)

// A file of steps is gzip's. Inside are a line that names the format, and the steps in the order in which the search told
// them, each a few numbers as [binary.AppendUvarint] writes them:
//
//   - its deed, by number, with 1 added for one that follows (length, text), and doubled; plus 1 if
//     the step is of the same state as that before. Else it is of the next state that has none yet, or is a set-up;
//   - how many choices are made within it, and these;
//   - where it leads: 0 to the end of the torture phase; 1 to a state that is new, whose hash follows, 8 bytes; else 1 more
//     than how many states before the next new one.
const format = "zktorture steps 1\n"

// Writer writes a file of steps while a search goes on: its Step is a search's Steps.
type Writer struct {
	out    *gzip.Writer
	number map[uint64]uint64 // of states
	deeds  map[string]uint64
	from   uint64
	err    error
	room   []byte
}

// NewWriter returns one that writes to out.
func NewWriter(out io.Writer) *Writer {
	zip, _ := gzip.NewWriterLevel(out, gzip.BestSpeed)
	_, err := io.WriteString(zip, format)
	return &Writer{out: zip, number: map[uint64]uint64{}, deeds: map[string]uint64{}, err: err}
}

// Step writes a step.
func (w *Writer) Step(from uint64, by string, inner []int, to uint64) {
	b := w.room[:0]
	same := uint64(1)
	if from != w.from || from == 0 {
		w.from, same = from, 0
	}
	deed, known := w.deeds[by]
	if b = binary.AppendUvarint(b, (deed+1)<<1|same); !known {
		deed = uint64(len(w.deeds))
		w.deeds[by] = deed
		b = binary.AppendUvarint(b[:0], same)
		b = append(binary.AppendUvarint(b, uint64(len(by))), by...)
	}
	b = binary.AppendUvarint(b, uint64(len(inner)))
	for _, v := range inner {
		b = binary.AppendUvarint(b, uint64(v))
	}
	next := uint64(len(w.number))
	if number, known := w.number[to]; known {
		b = binary.AppendUvarint(b, 1+next-number)
	} else if to == 0 {
		b = append(b, 0)
	} else {
		w.number[to] = next
		b = binary.LittleEndian.AppendUint64(append(b, 1), to)
	}
	if w.room = b; w.err == nil {
		_, w.err = w.out.Write(b)
	}
}

// Close ends the file. The error is the first that writing had.
func (w *Writer) Close() error { return errors.Join(w.err, w.out.Close()) }
