package histories

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"

	lin "github.com/zktorture/zktorture/linearizability"
)

// readBlocks is [Read] in blocks of about so many bytes.
func readBlocks(r io.Reader, size int) (lin.History, error) {
	p := &blockReader{in: r, size: size, work: make(chan *block)}
	defer p.stop()
	err := p.read()
	if p.kept == 0 {
		return nil, err
	}
	return p.history[:p.kept], err
}

// blockSize is how much is read at a time, in bytes.
const blockSize = 1 << 18

// lineMin is a length that no operation's line is below, in bytes.
const lineMin = len(`{"client":0,"op":"","outcome":"ok","call":0,"return":0}`)

// block is some lines of a file.
type block struct {
	text   []byte
	first  int  // the number of its first line
	last   bool // the file ends with it
	into   lin.History
	parsed chan lin.History // what was read into it
	err    error            // what is wrong with the line after that
}

// blockReader hands blocks to parsers, and collects what they read in the order of the file.
type blockReader struct {
	in      io.Reader
	size    int    // of a block
	rest    []byte // the beginning of a line
	lines   int    // handed out so far …
	bytes   int64  // … and how long they were
	history lin.History
	kept    int      // operations at the beginning of history that are collected
	open    []*block // handed out and not collected
	free    []*block
	work    chan *block
	parsers int
	parsing sync.WaitGroup
}

func (p *blockReader) read() error {
	for {
		b := p.spare()
		slow, end := p.fill(b)
		if err := p.hand(b); err != nil {
			return err
		}
		behind := 2 * p.parsers
		if slow || end != nil { // who waits for the next lines should know by then what is wrong with these
			behind = 0
		}
		if err := p.collect(behind); err != nil || end == io.EOF {
			return err
		}
		if end != nil {
			return fmt.Errorf("line %d: %w", p.lines+1, end)
		}
	}
}

func (p *blockReader) spare() *block {
	if len(p.free) == 0 {
		return &block{text: make([]byte, 0, p.size), parsed: make(chan lin.History, 1)}
	}
	b := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return b
}

// fill reads whole lines into b, or what is left of the file. It reports whether less could be read than there was room
// for, and why there is nothing more to read: io.EOF, or an error in the line that comes next.
func (p *blockReader) fill(b *block) (slow bool, end error) {
	b.text = append(b.text[:0], p.rest...)
	p.rest = p.rest[:0]
	for {
		b.text = slices.Grow(b.text, max(1, p.size-len(b.text)))
		n, err := readSome(p.in, b.text[len(b.text):cap(b.text)])
		b.text = b.text[:len(b.text)+n]
		whole := bytes.LastIndexByte(b.text, '\n') + 1
		switch long := len(b.text)-whole > lineMax; {
		case err == io.EOF && !long:
			b.last = true
			return false, io.EOF
		case long:
			err = errLong
		case err == nil && whole == 0:
			continue
		}
		slow = len(b.text) < cap(b.text)
		p.rest, b.text = append(p.rest, b.text[whole:]...), b.text[:whole]
		return slow, err
	}
}

// readSome is in.Read, but reads something or returns an error.
func readSome(in io.Reader, into []byte) (n int, err error) {
	for range 100 { // as package bufio
		if n, err = in.Read(into); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// hand hands a block to the parsers.
func (p *blockReader) hand(b *block) error {
	lines := bytes.Count(b.text, []byte("\n"))
	n := min(lines, len(b.text)/lineMin) + 1 // operations at most: the last line may have no end
	if cap(p.history)-len(p.history) < n {
		if err := p.collect(0); err != nil {
			return err
		}
		p.history = slices.Grow(p.history[:p.kept], max(n, p.expected(n, len(b.text))))
	}
	b.first, b.into = p.lines+1, p.history[len(p.history):len(p.history):len(p.history)+n]
	p.lines, p.bytes, p.history = p.lines+lines, p.bytes+int64(len(b.text)), p.history[:len(p.history)+n]
	if p.parsers < runtime.GOMAXPROCS(0) {
		p.parsers++
		p.parsing.Go(p.parse)
	}
	p.open = append(p.open, b)
	p.work <- b
	return nil
}

// expected estimates how many more operations there are: as many as these in as many bytes, up to the end of a file, or
// else as many as so far.
func (p *blockReader) expected(operations, bytes int) int {
	size := sizeOf(p.in)
	if size < p.bytes || bytes == 0 {
		return p.kept
	}
	return int(float64(size-p.bytes) * float64(operations) / float64(bytes) * 1.1)
}

// sizeOf is the size of a file or of a part of one, or -1.
func sizeOf(in io.Reader) int64 {
	switch in := in.(type) {
	case *io.SectionReader:
		return in.Size()
	case *os.File:
		if info, err := in.Stat(); err == nil && info.Mode().IsRegular() {
			return info.Size()
		}
	}
	return -1
}

// collect waits for blocks in the order of the file until so many are left open. The error is the first of the file.
func (p *blockReader) collect(left int) error {
	for len(p.open) > left {
		b := p.open[0]
		p.open = p.open[1:]
		read := <-b.parsed
		copy(p.history[p.kept:], read) // to where it is already, but for blank lines
		p.kept += len(read)
		if b.err != nil {
			return b.err
		}
		p.free = append(p.free, b)
	}
	return nil
}

// stop waits for the parsers.
func (p *blockReader) stop() {
	close(p.work)
	p.parsing.Wait()
}

func (p *blockReader) parse() {
	fast := newFastDecoder()
	for b := range p.work {
		b.parsed <- b.parse(&fast)
	}
}

// parse returns the operations of a block up to the first that is wrong.
func (b *block) parse(fast *fastDecoder) lin.History {
	read, text := b.into, b.text
	for number := b.first; len(text) > 0; number++ {
		line, rest, ended := bytes.Cut(text, []byte("\n"))
		if len(text)-len(rest) > lineMax {
			b.err = fmt.Errorf("line %d: %w", number, errLong)
			break
		}
		text = rest
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		read = append(read, lin.Operation{})
		if b.err = fast.parseNumbered(line, number, b.last && !ended, &read[len(read)-1]); b.err != nil {
			read = read[:len(read)-1]
			break
		}
	}
	return read
}
