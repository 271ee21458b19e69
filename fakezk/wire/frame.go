package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// FrameMax is the longest frame, in bytes, that [ReadFrame] accepts by default: what Java's client takes of a server
// (jute.maxbuffer). A server takes a quarter of that from its clients.
const FrameMax = 4 << 20

// lengthBytes is how long the length in front of a frame is.
const lengthBytes = 4

// frameStep is how much of a frame is allocated before any of it has arrived.
const frameStep = 64 << 10

// ReadFrame reads a frame and returns what is in it, in buffer if that is large enough. It returns io.EOF if the
// stream ends before the frame, io.ErrUnexpectedEOF if it ends within, an [*Error] if the frame has a length below 0
// or above max, and otherwise the reader's error.
func ReadFrame(r io.Reader, buffer []byte, max int) ([]byte, error) {
	var length [lengthBytes]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := int(int32(binary.BigEndian.Uint32(length[:])))
	if n < 0 || n > max {
		return nil, &Error{What: "frame", Problem: fmt.Sprintf("its length is %d bytes, and %d are allowed", n, max)}
	}
	return readN(r, buffer[:0], n)
}

// readN reads n bytes behind those in frame. What has been promised is not allocated before it arrives.
func readN(r io.Reader, frame []byte, n int) ([]byte, error) {
	for n > 0 {
		have := len(frame)
		if cap(frame) == have {
			frame = append(frame, make([]byte, min(n, max(have, frameStep)))...)[:have]
		}
		part := frame[have:min(cap(frame), have+n)]
		if _, err := io.ReadFull(r, part); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		frame, n = frame[:have+len(part)], n-len(part)
	}
	return frame, nil
}

// AppendFrame appends a frame of the records, one after the other.
func AppendFrame(b []byte, records ...Record) []byte {
	at := len(b)
	b = append(b, make([]byte, lengthBytes)...)
	for _, r := range records {
		b = Append(b, r)
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-lengthBytes))
	return b
}
