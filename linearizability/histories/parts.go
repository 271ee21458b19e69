package histories

import (
	"bytes"
	"fmt"
	"io"

	lin "github.com/zktorture/zktorture/linearizability"
)

// WritePart writes a part of a history as [Write] does, all at once and with an empty line after it, to a file that
// grows part by part. If the program that writes it is killed, [WholeParts] knows which parts are whole. An empty history
// is no part.
func WritePart(w io.Writer, h lin.History) error {
	if len(h) == 0 {
		return nil
	}
	var part bytes.Buffer
	if err := Write(&part, h); err != nil {
		return err
	}
	part.WriteByte('\n')
	if _, err := w.Write(part.Bytes()); err != nil {
		return fmt.Errorf("write %d operations: %w", len(h), err)
	}
	return nil
}

// end is the end of the last line of a part, and the empty line after it.
var end = []byte("\n\n")

// chunkSize is how much of a file is looked through at a time, in bytes.
const chunkSize = 1 << 16

// WholeParts returns a reader of the parts that [WritePart] wrote to the end, and how many bytes after them are of a part
// that was cut off. If each part is independent, such as the history of one object, the part that is left out cannot
// explain the others. For a history that is cut off anywhere else that does not hold, and [Read] refuses it.
func WholeParts(file io.ReaderAt, size int64) (whole *io.SectionReader, rest int64, err error) {
	until, err := lastEnd(file, size)
	if err != nil {
		return nil, 0, err
	}
	return io.NewSectionReader(file, 0, until), size - until, nil
}

// lastEnd looks backwards for the end of the last whole part; 0 if there is none.
func lastEnd(file io.ReaderAt, size int64) (int64, error) {
	chunk := make([]byte, chunkSize+len(end)-1) // chunks overlap, so that an end is in one of them
	for from := size; from > 0; {
		from = max(0, from-chunkSize)
		n, err := file.ReadAt(chunk[:min(int64(len(chunk)), size-from)], from)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if i := bytes.LastIndex(chunk[:n], end); i >= 0 {
			return from + int64(i+len(end)), nil
		}
	}
	return 0, nil
}
