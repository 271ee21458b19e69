package quorum

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// kind is a QuorumPacket's type.
type kind int32

// The types that matter here (org.apache.zookeeper.server.quorum.Leader).
const (
	kindCommit            kind = 4
	kindSync              kind = 7  // the answer to a sync
	kindCommitAndActivate kind = 9  // a COMMIT of another configuration
	kindUpToDate          kind = 12 // the end of bringing a follower up to date
	kindSnapshot          kind = 15 // a snapshot follows, which is no packet
)

// packet is a QuorumPacket, or bytes of none: then its kind is 0.
type packet struct {
	kind  kind
	zxid  int64
	bytes []byte
}

// bufferMax bounds a packet's buffer, in bytes. Clients' transactions have at most jute.maxbuffer, 1 MB.
const bufferMax = 64 << 20

// identitiesMax bounds the identities of a packet. No leader sends one.
const identitiesMax = 1 << 10

// rawMax bounds one read after a snapshot, in bytes.
const rawMax = 32 << 10

// reader reads packets in Jute's encoding (zookeeper.jute, class QuorumPacket): an int, a long, a buffer, and a
// vector of identities, of two strings each. Buffers, strings and vectors begin with their length, -1 for none. After
// the packet that announces a snapshot it returns bytes as they come.
type reader struct {
	source io.Reader
	raw    bool // a snapshot has been announced
}

// read reads one packet. The error is the source's, io.EOF only between packets, or that of a malformed length; the
// packet has the bytes read so far.
func (r *reader) read() (p packet, err error) {
	if r.raw {
		b := make([]byte, rawMax)
		n, err := r.source.Read(b)
		return packet{bytes: b[:n]}, err
	}
	var taken bytes.Buffer
	err = p.parse(io.TeeReader(r.source, &taken))
	p.bytes = taken.Bytes()
	if err == io.EOF && len(p.bytes) > 0 {
		err = io.ErrUnexpectedEOF
	}
	r.raw = p.kind == kindSnapshot
	return p, err
}

func (p *packet) parse(in io.Reader) error {
	var head struct {
		Kind kind
		Zxid int64
	}
	if err := binary.Read(in, binary.BigEndian, &head); err != nil {
		return err
	}
	p.kind, p.zxid = head.Kind, head.Zxid
	if err := skipBuffer(in); err != nil {
		return err
	}
	identities, err := length(in, identitiesMax)
	for range 2 * identities {
		if err == nil {
			err = skipBuffer(in)
		}
	}
	return err
}

// length reads a length of at most most, 0 for none.
func length(in io.Reader, most int32) (n int32, err error) {
	if err := binary.Read(in, binary.BigEndian, &n); err != nil {
		return 0, err
	}
	if n < -1 || n > most {
		return 0, fmt.Errorf("quorum: a leader has sent a malformed packet: a length is %d", n)
	}
	return max(0, n), nil
}

func skipBuffer(in io.Reader) error {
	n, err := length(in, bufferMax)
	if err == nil {
		_, err = io.CopyN(io.Discard, in, int64(n))
	}
	return err
}
