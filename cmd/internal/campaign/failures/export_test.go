package failures

import (
	"path/filepath"
)

// NightNamed is the file name of a night with some content, in a store.
func NightNamed(dir, content string) string {
	return filepath.Join(dir, nightsDir, "20260131T220000Z-"+digest([]byte(content))[:16]+".json")
}
