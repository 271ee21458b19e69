package escape

import (
	"crypto/sha256"
	"encoding/base64"
)

// Script names a script in a page's Content Security Policy (W3C, CSP Level 3, "hash-source"): the source expression of script-src that allows exactly this text as a script element of the page.
func Script(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
