package failures

import "github.com/zktorture/zktorture/internal/wholefile"

func init() { wholefile.NameFormat[nightFile]("night") }
