package failures

import "github.com/zktorture/zktorture/internal/fileformat"

func init() { fileformat.Register[nightFile]("night") }
