package linearizability

import (
	"bytes"
	"fmt"
	"io"
)

// WritePart writes a part of a history as [Write] does, all at once and with an empty line after it, so that
// [WholeParts] can tell whether it was written to its end when the program was killed. An empty history is no part.
func WritePart(w io.Writer, h History) error {
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

// partEnd is the end of the last line of a part, and the empty line after it.
var partEnd = []byte("\n\n")

// partChunk is how much of a file is looked through at a time, in bytes.
const partChunk = 1 << 16

// WholeParts returns a reader of the parts that [WritePart] wrote to the end, and how many bytes after them are of a
// part that was cut off. If each part is independent, such as the history of one object, the part that is left
// out cannot explain the others. For a history that is cut off anywhere else that does not hold, and [Read] refuses it.
func WholeParts(file io.ReaderAt, size int64) (whole *io.SectionReader, rest int64, err error) {
	end, err := lastPartEnd(file, size)
	if err != nil {
		return nil, 0, err
	}
	return io.NewSectionReader(file, 0, end), size - end, nil
}

// lastPartEnd looks backwards for the end of the last whole part; 0 if there is none.
func lastPartEnd(file io.ReaderAt, size int64) (int64, error) {
	chunk := make([]byte, partChunk+len(partEnd)-1) // chunks overlap, so that an end is in one of them
	for from := size; from > 0; {
		from = max(0, from-partChunk)
		n, err := file.ReadAt(chunk[:min(int64(len(chunk)), size-from)], from)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if i := bytes.LastIndex(chunk[:n], partEnd); i >= 0 {
			return from + int64(i+len(partEnd)), nil
		}
	}
	return 0, nil
}
