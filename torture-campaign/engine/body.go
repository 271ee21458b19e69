package engine

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// bodyMax is how large the compressed body of a message may be: NATS's default limit is 1 MB, and many wait at a time.
const bodyMax = 256 << 10

// bodyLimit is how long a large body may be on its way.
const bodyLimit = 5 * time.Minute

// bodyHeader says in which object the body of a message is.
const bodyHeader = "Torture-Body"

// ErrLost is the error of a message whose body is not there: its writer was killed, or somebody has removed it.
var ErrLost = errors.New("the body of the message is lost")

// message is a message whose body is a value, as compressed JSON.
func (c *Campaign) message(ctx context.Context, subject string, value any) (*nats.Msg, error) {
	body, err := pack(value)
	if err != nil {
		return nil, err
	}
	m := nats.NewMsg(subject)
	if len(body) <= bodyMax {
		m.Data = body
		return m, nil
	}
	name := subject + "." + rand.Text()
	ctx, cancel := context.WithTimeout(ctx, bodyLimit)
	defer cancel()
	if _, err := c.bodies.PutBytes(ctx, name, body); err != nil {
		return nil, err
	}
	m.Header.Set(bodyHeader, name)
	return m, nil
}

// read reads the body of a message into a value.
func (c *Campaign) read(ctx context.Context, h nats.Header, data []byte, value any) error {
	if name := h.Get(bodyHeader); name != "" {
		ctx, cancel := context.WithTimeout(ctx, bodyLimit)
		defer cancel()
		var err error
		data, err = c.bodies.GetBytes(ctx, name)
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return fmt.Errorf("%w: %s", ErrLost, name)
		}
		if err != nil {
			return err
		}
	}
	return unpack(data, value)
}

// drop removes the body of a message that is needed no more.
func (c *Campaign) drop(ctx context.Context, h nats.Header) error {
	name := h.Get(bodyHeader)
	if name == "" {
		return nil
	}
	if err := c.bodies.Delete(ctx, name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	return nil
}

func pack(value any) ([]byte, error) {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err := json.NewEncoder(z).Encode(value); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func unpack(data []byte, value any) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, value)
}
