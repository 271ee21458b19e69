package failures

import "github.com/zktorture/zktorture/internal/wholefile/formats"

func init() { formats.Name[nightFile]("night") }
