package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Each record of the files of [Config.Data] is a line of JSON, whose last field is the CRC-32C of the record without
// it. Programs from before there were checksums read such a line, and theirs, without a checksum, is read here.
const (
	sumField  = `,"crc32c":"`
	sumDigits = 8
	sumEnd    = `"}`
	sumLength = len(sumField) + sumDigits + len(sumEnd)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(record []byte) string {
	return fmt.Sprintf("%0*x", sumDigits, crc32.Checksum(record, castagnoli))
}

// summing adds a checksum to each line that is written to it.
type summing struct {
	to   io.Writer
	line []byte // its beginning
}

func (s *summing) Write(p []byte) (int, error) {
	written := len(p)
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		if s.line = append(s.line, line...); !whole {
			return written, nil
		}
		sum := checksum(s.line)
		s.line = append(s.line[:len(s.line)-1], sumField+sum+sumEnd+"\n"...)
		if _, err := s.to.Write(s.line); err != nil {
			return 0, err
		}
		s.line, p = s.line[:0], rest
	}
}

// records are those of a file, each checked.
type records struct {
	lines  *bufio.Reader
	number int    // of the line that was read last
	err    error  // why there are no more
	rest   []byte // of that line, for Read
}

func newRecords(file io.Reader) *records { return &records{lines: bufio.NewReader(file)} }

// next returns the next record, as a line without its checksum. After the last one it returns io.EOF, or
// io.ErrUnexpectedEOF if a record has been cut off.
func (r *records) next() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	line, err := r.lines.ReadBytes('\n')
	if len(line) > 0 {
		r.number++
	}
	switch {
	case errors.Is(err, io.EOF) && len(line) > 0:
		r.err = io.ErrUnexpectedEOF
	case err != nil:
		r.err = err
	default:
		line, r.err = checked(line)
	}
	return line, r.err
}

// Read reads the records one after the other.
func (r *records) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		var err error
		if r.rest, err = r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// checked takes the checksum, if there is one, from a line.
func checked(line []byte) ([]byte, error) {
	at := len(line) - len("\n") - sumLength
	if at < 0 || !bytes.HasPrefix(line[at:], []byte(sumField)) || !bytes.HasSuffix(line, []byte(sumEnd+"\n")) {
		return line, nil
	}
	said := string(line[at+len(sumField):][:sumDigits])
	record := append(line[:at], '}')
	if is := checksum(record); is != said {
		return nil, fmt.Errorf("the record's checksum is %s and not %s, as is said there: the file is damaged", is, said)
	}
	return append(record, '\n'), nil
}

// decode reads a record, which has nothing that is unknown.
func decode(record []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(record))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the record")
	}
	return nil
}
