package digest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"sync"
)

// Program is the SHA-256 of the program file of this process, in hexadecimal; "" if it cannot be read any more.
var Program = sync.OnceValue(func() string {
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return ""
	}
	return fmt.Sprintf("%x", h.Sum(nil))
})
